-- Returns which messages bring jobs that were replayed.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- ARGV[3..]  job IDs, at most JOB_BATCH
-- Returns    of each job the number of the message that it needs, or -1, and its generation
-- Cost       O(log n) a job
local ids, reply = { unpack(ARGV, 3) }, {}
if ids[1] then jobs.read(ids) end
for _, id in ipairs(ids) do jobs.message_to_send(reply, id) end
return jobs.reply(reply)
