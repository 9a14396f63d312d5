-- Returns what is known about joins and pre-tickets. Does not change the state.
--
-- KEYS[1..8] line, active, pool, ended, state, settings, joins, networks
-- ARGV[1]    now in us, or ''
-- Returns    the reply of stats.lua, then events_window and events_since (see limits.lua), the histograms of both halves as 32-bit
--            numbers, and the networks: half and prefix, and score
-- Cost       O(log n + LARGEST_NETWORKS_MAX)
-- Every visit reads these two, too: a queue whose visits fail is not reported as one that can be read.
call('ZCARD', POOL)
call('ZCARD', ENDED)
local reply = stats_reply()
local record, events = limits.read(), call('HMGET', STATE, 'events_window', 'events_since')
local from = 8 * record[2]
reply[#reply + 1] = events[1] or 0
reply[#reply + 1] = events[2] or ''
reply[#reply + 1] = record[2] > 0 and call('GETRANGE', JOIN_COUNTERS, from, from + 2 * LIMITS.HISTOGRAMS_SIZE - 1) or ''
for _, value in ipairs(call('ZRANGE', NETWORKS, 0, -1, 'WITHSCORES')) do reply[#reply + 1] = value end
return reply
