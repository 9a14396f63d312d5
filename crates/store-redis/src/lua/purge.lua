-- Removes expired sessions and old tombstones, and admits sessions to the freed slots. Closes a
-- draining queue whose line has been empty for hold_ttl, so that no ticket can restore a session to
-- it.
--
-- KEYS[1..8] line, active, pool, ended, state, settings, joins, networks
-- ARGV[1]    now in us, or ''
-- ARGV[2]    maximum number of each, at most PURGE_BATCH
-- Returns    { DONE, expired sessions, tombstones, admitted, whether more is due, revision if the queue closed or -1 }
-- Cost       O(PURGE_BATCH * log n)
-- Rules      2, 6, 9
local limit = math.min(tonumber(ARGV[2]), PURGE_BATCH)
-- After the clock stepped back, expiries that no visit could have set are shortened to what a visit
-- would set now.
if call('HGET', STATE, 'stepped_back') == '1' then
  local furthest = string.format('(%d', now + math.max(longest_presence_ttl(), rules.active_ttl) * SECOND)
  local ahead = call('ZRANGE', POOL, '+inf', furthest, 'BYSCORE', 'REV', 'LIMIT', 0, limit)
  for _, session in ipairs(ahead) do
    local admitted_at = tonumber(call('ZSCORE', ACTIVE, session))
    -- The wait that was shown is not known here; the next visit shortens the expiry.
    local expiry = visited(admitted_at, true, now + PRESENCE_SHARE * longest_presence_ttl() * SECOND)
    call('ZADD', POOL, expiry, session)
  end
  if #ahead < limit then call('HDEL', STATE, 'stepped_back') end
end
local expired, cleared = reap(limit), tombstones.clear(limit)
local admitted, seen = advance()
-- Sessions that expired at the head of the line count as well.
expired = expired + seen - admitted
local more = #expired_in(POOL, 1) + #tombstones.expired(1) > 0
local closed = -1
if rules.mode == 'draining' and waiting == 0 then
  local since = tonumber(call('HGET', STATE, 'empty_since'))
  if not since then
    since = now
    call('HSET', STATE, 'empty_since', now)
  end
  if now >= since + rules.hold_ttl * SECOND then
    change_rules({ mode = 'closed', revision = rules.revision + 1 })
    call('HDEL', STATE, 'empty_since')
    closed = rules.revision
  end
end
return { DONE, expired, cleared, admitted, more and 1 or 0, closed }
