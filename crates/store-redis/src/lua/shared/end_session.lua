-- Rule 8: ends a session, present or away: its place is free at once, and a tombstone keeps its ticket from returning.
-- Counts `event` if it was present. Returns what it was. O(batch * log n).
local function end_session(session, event)
  reap(REAP_BATCH)
  clear_tombstones(REAP_BATCH)
  local removal = WAS_ABSENT
  local expiry = call('ZSCORE', POOL, session)
  if expiry then
    call('ZREM', POOL, session)
    removal = call('ZREM', LINE, session) == 1 and WAITED or WAS_ADMITTED
    if removal == WAITED and is_confirmed(expiry) then gone = gone + 1 end
    local admitted_at = tonumber(call('ZSCORE', PLACES, session))
    if admitted_at then end_stay(admitted_at) end
    call('ZREM', PLACES, session)
    count(event, 1)
  end
  bury(session)
  measure()
  advance()
  return removal
end
