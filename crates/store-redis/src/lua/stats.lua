-- Returns the statistics of a queue. Does not change the state.
--
-- KEYS[1..6] line, active, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- Returns    { DONE, now, state_since, recovering, reserved, waiting, active, oldest arrival or -1, pace, rules, counters .. }
--            counters in the order of COUNTER_FIELDS, nil where nothing was counted; rules as the settings hold them
-- Cost       O(log n)
local oldest = call('ZRANGE', LINE, 0, 0, 'WITHSCORES')
local reply = {
  DONE, now, state_since, recovering and 1 or 0, reserved(), waiting, active, tonumber(oldest[2]) or -1, pace,
  rules_text,
}
local filled = #reply
for i, value in ipairs(call('HMGET', STATE, unpack(COUNTER_FIELDS))) do reply[filled + i] = value end
return reply
