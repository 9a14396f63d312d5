-- Returns the statistics of a queue. Does not change the state.
--
-- KEYS[1..8] line, active, pool, ended, state, settings, joins, networks
-- ARGV[1]    now in us, or ''
-- Returns    { DONE, now, state_since, recovering, reserved, waiting, active, oldest arrival or -1, pace, rules, effective
--            mode, phase or '' if the queue does not follow its events, lobby tickets of the current event, counters .. }
--            counters in the order of COUNTER_FIELDS, nil where nothing was counted, then the record of joins (see limits.lua) and
--            when attack mode ends (-1 if it is off); rules as the settings hold them
-- Cost       O(log n)
return stats_reply()
