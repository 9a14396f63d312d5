-- Admits one session, whatever quota, rate, pause or those before it in the line say.
--
-- KEYS[1..6] line, places, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the session
-- Returns    { DONE, 1, whom it let in .. } if it waited, { DONE, 0, .. } if it did not
-- Cost       O(ADVANCE_BATCH * log n)
-- Rules      2, 6, 10
reap(REAP_BATCH)
measure()
advance()
local session = ARGV[2]
local arrival, expiry = call('ZSCORE', LINE, session), call('ZSCORE', POOL, session)
if not arrival or not expiry or tonumber(expiry) <= now then return with_let_in({ DONE, 0 }) end
call('ZREM', LINE, session)
call('ZADD', PLACES, now, session)
call('ZADD', POOL, as_confirmed(lapse(now, claim_ttl), is_confirmed(expiry)), session)
let_in[#let_in + 1] = session
count_waits({ arrival })
count('released', 1)
return with_let_in({ DONE, 1 })
