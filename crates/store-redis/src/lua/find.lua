-- Where a session is. Changes nothing.
--
-- KEYS[1..6] line, places, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the session
-- Returns    { DONE, ABSENT }, { DONE, WAITING, expiry, arrival, rank from 1 }, { DONE, ADMITTED, expiry, admitted at }
--            or { DONE, ENDED_BEFORE, when the tombstone lapses }
-- Cost       O(log n)
-- Rules      8
local session = ARGV[2]
local rank, admitted_at = locate(session, false)
local expiry = math.ceil(tonumber(call('ZSCORE', POOL, session)) or 0)
if rank then return { DONE, WAITING, expiry, tonumber(call('ZSCORE', LINE, session)), rank + 1 } end
if admitted_at then return { DONE, ADMITTED, expiry, admitted_at } end
local till = ended_until(session)
if till then return { DONE, ENDED_BEFORE, till } end
return { DONE, ABSENT }
