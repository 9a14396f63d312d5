-- The queue at a glance. Changes nothing.
--
-- KEYS[1..6] line, active, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- Returns    { DONE, now, began, recovering, reserved, waiting, active, oldest arrival or -1, pace, events and waits .., rules .. }
--            events and waits in the order of counter_fields, rules in that of rule_values; what never happened, or is not
--            set, is nil
-- Cost       O(log n)
local oldest = call('ZRANGE', LINE, 0, 0, 'WITHSCORES')
local reply = {
  DONE, now, state_since, recovering and 1 or 0, reserved(), waiting, active, tonumber(oldest[2]) or -1, pace,
}
local filled = #reply
for i, value in ipairs(call('HMGET', STATE, unpack(counter_fields()))) do reply[filled + i] = value end
filled = #reply
for i, value in ipairs(rule_values) do reply[filled + i] = value end
return reply
