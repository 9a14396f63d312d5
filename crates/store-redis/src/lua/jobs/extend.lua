-- Extends leases.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- ARGV[3..]  of each lease: job ID, receive count, seconds from now on, and '1' if a held order is sent, else '0'
-- Returns    of each lease 1 if it is current, else 0
-- Cost       O(log n) a lease
-- Rules      H7, J9
local reply = {}
for i = 3, #ARGV, 4 do
  reply[#reply + 1] = jobs.extend(ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), ARGV[i + 3] == '1')
end
return jobs.reply(reply)
