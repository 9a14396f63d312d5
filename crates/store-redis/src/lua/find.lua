-- Looks up a session. Does not change the state.
--
-- KEYS[1..8] line, active, pool, ended, state, settings, joins, networks
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the session
-- Returns    { DONE, ABSENT }, { DONE, WAITING, expiry, arrival, position from 1 }, { DONE, ADMITTED, expiry, admitted at }
--            or { DONE, ENDED_BEFORE, when the tombstone expires }
-- Cost       O(log n)
-- Rules      8
local session = ARGV[2]
local expiry = tonumber(call('ZSCORE', POOL, session)) or 0
local position = call('ZRANK', LINE, session)
if position then return { DONE, WAITING, expiry, tonumber(call('ZSCORE', LINE, session)), position + 1 } end
local ended_at, admitted_at = tombstones.at(session), tonumber(call('ZSCORE', ACTIVE, session))
if ended_at and not (admitted_at and admitted_at > ended_at) then
  return { DONE, ENDED_BEFORE, ended_at + tombstones.ttl() }
end
if admitted_at then return { DONE, ADMITTED, expiry, admitted_at } end
return { DONE, ABSENT }
