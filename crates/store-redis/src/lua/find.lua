-- Where a session is. Changes nothing.
--
-- KEYS[1..6] line, active, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the session
-- Returns    { DONE, ABSENT }, { DONE, WAITING, expiry, arrival, rank from 1 }, { DONE, ADMITTED, expiry, admitted at }
--            or { DONE, ENDED_BEFORE, when the tombstone expires }
-- Cost       O(log n)
-- Rules      8
local session = ARGV[2]
local expiry = tonumber(call('ZSCORE', POOL, session)) or 0
local rank = call('ZRANK', LINE, session)
if rank then return { DONE, WAITING, expiry, tonumber(call('ZSCORE', LINE, session)), rank + 1 } end
local till = tonumber(call('ZSCORE', ENDED, session))
if till and till > now then return { DONE, ENDED_BEFORE, till } end
local admitted_at = tonumber(call('ZSCORE', ACTIVE, session))
if admitted_at then return { DONE, ADMITTED, expiry, admitted_at } end
return { DONE, ABSENT }
