-- Admits one session regardless of quota, rate, pause and position.
--
-- KEYS[1..8] line, active, pool, ended, state, settings, joins, networks
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the session
-- Returns    { DONE, 1 } if it waited, { DONE, 0 } if it did not, and while the order is drawn
-- Cost       O(ADVANCE_BATCH * log n)
-- Rules      2, 6, 10, 13
reap(REAP_BATCH)
advance()
local session = ARGV[2]
local arrival, expiry = call('ZSCORE', LINE, session), call('ZSCORE', POOL, session)
if not arrival or not expiry or tonumber(expiry) <= now or effective_mode() == 'draw' then return { DONE, 0 } end
call('ZREM', LINE, session)
call('ZADD', ACTIVE, now, session)
call('ZADD', POOL, expiry_of(now, rules.claim_ttl), session)
count_waits({ arrival })
count('released', 1)
return { DONE, 1 }
