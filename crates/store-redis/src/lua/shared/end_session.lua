-- Rule 8: ends a session, present or away: its place is free at once, and a tombstone keeps its ticket from returning.
-- Counts `event` if it was present. Returns what it was. O(batch * log n).
local function end_session(session, event)
  reap(REAP_BATCH)
  clear_tombstones(REAP_BATCH)
  local removal = WAS_ABSENT
  if call('ZREM', POOL, session) == 1 then
    removal = call('ZREM', LINE, session) == 1 and WAITED or WAS_ADMITTED
    call('ZREM', PLACES, session)
    count(event, 1)
  end
  bury(session)
  measure()
  advance()
  return removal
end
