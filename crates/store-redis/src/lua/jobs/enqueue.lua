-- Enqueues jobs.
--
-- KEYS[1..9] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state
-- KEYS[10..]  keys of deduplication: ID and acceptance of the first job
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- ARGV[3]    a random number: a call that is sent again because its reply was lost answers as it did the first time
-- ARGV[4..]  of each job, at most JOB_BATCH: its ID, the fields of its record that the producer decides as a map, and its
--            payload. The field `key` is the number of its key of deduplication, from 1
-- Returns    of each job ACCEPTED, FULL, or the ID of the job that it duplicates
-- Cost       O(log n) a job
-- Rules      J2, J4, J7, J15
local token, ids, reply = tonumber(ARGV[3]), {}, {}
for i = 4, #ARGV, 3 do ids[#ids + 1] = ARGV[i] end
if ids[1] then jobs.read(ids) end
for i = 4, #ARGV, 3 do
  local new = cmsgpack.unpack(ARGV[i + 1])
  local key = new.key and KEYS[9 + new.key]
  reply[#reply + 1] = jobs.enqueue(ARGV[i], new, ARGV[i + 2], key, token)
end
return jobs.reply(reply)
