-- Leases jobs that messages bring, if they can start.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- ARGV[3..]  of each message, at most JOB_BATCH: job ID, generation and number of the message
-- Returns    of each message STARTED and the record; WAITS and for how many us; FINISHED, LOST or NEEDS_PAYLOAD
-- Cost       O(log n) a job
-- Rules      J5, J6, J8, J9, J13
local ids, reply = {}, {}
for i = 3, #ARGV, 3 do ids[#ids + 1] = ARGV[i] end
if ids[1] then jobs.read(ids) end
for i = 3, #ARGV, 3 do jobs.start(reply, ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])) end
return jobs.reply(reply)
