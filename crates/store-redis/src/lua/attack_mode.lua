-- Switches attack mode on, or ends it.
--
-- KEYS[1..8] line, active, pool, ended, state, settings, joins, networks
-- ARGV[1]    now in us, or ''
-- ARGV[2]    for how many seconds from now, at most ATTACK_MODE_MAX; 0 ends it
-- Returns    { DONE, when it would have ended, when it ends }, each in us, -1 if it is off
-- Cost       O(1)
local before, seconds = attack_mode_until(), math.min(tonumber(ARGV[2]), LIMITS.ATTACK_MODE_MAX)
attack_until = seconds > 0 and now + seconds * SECOND or 0
call('HSET', STATE, 'attack_until', attack_until)
return { DONE, before, attack_mode_until() }
