-- Withdraws jobs whose messages were certainly not sent.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- ARGV[3..]  job IDs, at most JOB_BATCH
-- Returns    {}
-- Cost       O(log n) a job
-- Rules      J3, J14
local ids = { unpack(ARGV, 3) }
if ids[1] then jobs.read(ids) end
for _, id in ipairs(ids) do jobs.withdraw(id) end
return jobs.reply({})
