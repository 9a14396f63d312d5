-- The queue at a glance. Changes nothing.
--
-- KEYS[1..6] line, places, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- Returns    { DONE, now, rules, began, recovering, waiting, active, oldest arrival or -1, pace, events and waits .. }
--            the last ones in the order of event_fields; what never happened is nil
-- Cost       O(log n)
local oldest = call('ZRANGE', LINE, 0, 0, 'WITHSCORES')
local reply = {
  DONE, now, packed, began, recovering and 1 or 0,
  call('ZCARD', LINE), call('ZCARD', PLACES), tonumber(oldest[2]) or -1, pace,
}
for _, value in ipairs(call('HMGET', STATE, unpack(event_fields()))) do reply[#reply + 1] = value end
return reply
