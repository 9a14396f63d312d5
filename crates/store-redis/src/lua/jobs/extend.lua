-- Extends leases.
--
-- KEYS[1..9] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- ARGV[3..]  of each lease: job ID and receive count
-- Returns    of each lease 1 if it is current, else 0
-- Cost       O(log n) a lease
-- Rules      J9
local reply = {}
for i = 3, #ARGV, 2 do reply[#reply + 1] = jobs.extend(ARGV[i], tonumber(ARGV[i + 1])) end
return jobs.reply(reply)
