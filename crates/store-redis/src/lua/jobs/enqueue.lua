-- Enqueues jobs.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- ARGV[3]    a random number: a call that is sent again because its reply was lost answers as it did the first time
-- ARGV[4..]  of each job, at most JOB_BATCH: its ID, the fields of its record that the producer decides as a map, and its
--            payload
-- Returns    of each job ACCEPTED, FULL, TOO_MANY, REMOVED, or the ID of the job that it duplicates
-- Cost       O(log n) a job
-- Rules      J2, J4, J7, J15
local token, ids, reply = tonumber(ARGV[3]), {}, {}
for i = 4, #ARGV, 3 do ids[#ids + 1] = ARGV[i] end
if ids[1] then jobs.read(ids) end
for i = 4, #ARGV, 3 do
  reply[#reply + 1] = jobs.enqueue(ARGV[i], cmsgpack.unpack(ARGV[i + 1]), ARGV[i + 2], token)
end
return jobs.reply(reply)
