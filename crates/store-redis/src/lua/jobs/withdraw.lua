-- Withdraws jobs whose messages were not sent.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- ARGV[3..]  job IDs, at most JOB_BATCH
-- Returns    of each job 1, or 0 if it stays
-- Cost       O(log n) a job
-- Rules      J3, J14
local ids, reply = { unpack(ARGV, 3) }, {}
if ids[1] then jobs.read(ids) end
for i, id in ipairs(ids) do reply[i] = jobs.withdraw(id) end
return jobs.reply(reply)
