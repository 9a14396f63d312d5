-- Counts events in the state. The server adds up in whole 64-bit numbers.
local function count(event, times)
  if times > 0 then call('HINCRBY', STATE, event, times) end
end

-- Rule 8: a tombstone keeps the session's ticket from returning, for as long as any ticket of its could.
local function bury(session)
  call('ZADD', ENDED, now + math.max(hold_ttl, active_ttl) * SECOND, session)
end

-- Whether a place taken at `admitted_at` has lasted as long as max_session lets it.
local function outlived(admitted_at)
  return max_session >= 0 and admitted_at + max_session * SECOND <= now
end

-- Those whose time in `key` is up, the longest due first. O(log n + limit).
local function due_in(key, limit)
  return call('ZRANGE', key, '0', now_text, 'BYSCORE', 'LIMIT', '0', limit)
end

-- Rule 6: removes up to `limit` lapsed sessions; returns how many. O(limit * log n).
local function reap(limit)
  local due = due_in(POOL, limit)
  if #due == 0 then return 0 end
  local ended = 0
  if max_session >= 0 then
    local since = call('ZMSCORE', PLACES, unpack(due))
    for i, session in ipairs(due) do
      if since[i] and outlived(tonumber(since[i])) then
        bury(session)
        ended = ended + 1
      end
    end
  end
  call('ZREM', POOL, unpack(due))
  count('expired_in_line', call('ZREM', LINE, unpack(due)))
  count('expired_in_places', call('ZREM', PLACES, unpack(due)) - ended)
  count('ended', ended)
  return #due
end
