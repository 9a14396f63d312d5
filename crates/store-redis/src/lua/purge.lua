-- Removes lapsed sessions and old tombstones, and fills the places that became free. Closes a draining queue whose line
-- has been empty for hold_ttl, so that no ticket can bring anybody back to it.
--
-- KEYS[1..6] line, places, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- ARGV[2]    how many of each at most; PURGE_BATCH is the most
-- Returns    { DONE, lapsed sessions, tombstones, admitted, whether more is due, revision if the queue closed or -1,
--            whom it let in .. }
-- Cost       O(PURGE_BATCH * log n)
-- Rules      2, 6, 9
local limit = math.min(tonumber(ARGV[2]), PURGE_BATCH)
local expired, tombstones = reap(limit), clear_tombstones(limit)
measure()
local admitted, seen = advance()
-- Those who lapsed at the head of the line make room there as well.
expired = expired + seen - admitted
local more = #due_in(POOL, 1) + #due_in(ENDED, 1) > 0
local closed = -1
if mode == DRAINING and waiting == 0 then
  local since = tonumber(call('HGET', STATE, 'drained'))
  if not since then
    since = now
    call('HSET', STATE, 'drained', now)
  end
  if now >= since + hold_ttl * SECOND then
    mode, revision = CLOSED, revision + 1
    keep_rules()
    call('HDEL', STATE, 'drained')
    closed = revision
  end
end
return with_let_in({ DONE, expired, tombstones, admitted, more and 1 or 0, closed })
