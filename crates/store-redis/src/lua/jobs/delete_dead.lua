-- Deletes dead letters.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- ARGV[3..]  job IDs, at most JOB_BATCH
-- Returns    of each job 1, or 0 if it is no dead letter
-- Cost       O(log n) a job
-- Rules      J14
local ids, reply = { unpack(ARGV, 3) }, {}
if ids[1] then jobs.read(ids) end
for i, id in ipairs(ids) do reply[i] = jobs.delete_dead(id) end
return jobs.reply(reply)
