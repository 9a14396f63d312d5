-- Admits one session, whatever quota, rate, pause or those before it in the line say.
--
-- KEYS[1..6] line, active, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the session
-- Returns    { DONE, 1 } if it waited, { DONE, 0 } if it did not
-- Cost       O(ADVANCE_BATCH * log n)
-- Rules      2, 6, 10
local line = line_operations()
line.reap(REAP_BATCH)
line.advance()
local session = ARGV[2]
local arrival, expiry = call('ZSCORE', LINE, session), call('ZSCORE', POOL, session)
if not arrival or not expiry or tonumber(expiry) <= now then return { DONE, 0 } end
call('ZREM', LINE, session)
call('ZADD', ACTIVE, now, session)
call('ZADD', POOL, line.expiry_of(now, claim_ttl), session)
line.count_waits({ arrival })
line.count('released', 1)
return { DONE, 1 }
