-- Ends leases.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- ARGV[3..]  of each lease: job ID; receive count, outcome and its details as a map; the response
-- Returns    of each lease the state of the job, or '' if the lease is not current
-- Cost       O(log n) a lease
-- Rules      H8, J5, J6, J9, J10, J12, J14, J16, J18
local ids, reply = {}, {}
for i = 3, #ARGV, 3 do ids[#ids + 1] = ARGV[i] end
if ids[1] then jobs.read(ids) end
for i = 3, #ARGV, 3 do reply[#reply + 1] = jobs.settle(ARGV[i], cmsgpack.unpack(ARGV[i + 1]), ARGV[i + 2]) end
return jobs.reply(reply)
