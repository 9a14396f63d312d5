-- Counts events in the state. The server adds up in whole 64-bit numbers.
local function count(event, times)
  if times > 0 then call('HINCRBY', STATE, event, times) end
end

-- A session whose ticket has not come back yet has its expiry in the pool half a microsecond early: it lapses at the same
-- instant, and can be told from the others at no cost.
local function is_confirmed(expiry)
  return tonumber(expiry) % 1 == 0
end

local function as_confirmed(expiry, confirmed)
  return confirmed and expiry or expiry - 0.5
end

-- Who left the line in this operation, other than by admission and confirmed, less who came back: see keep_pace.
local gone = 0

-- Stays in places that ended in this operation: those shorter than active_ttl and their milliseconds, and the others.
local short, short_ms, long = 0, 0, 0

local function end_stay(admitted_at)
  local stay = math.max(now - admitted_at, 0)
  if stay < active_ttl * SECOND then
    short, short_ms = short + 1, short_ms + math.floor(stay / 1000)
  else
    long = long + 1
  end
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
  local found = call('ZRANGE', POOL, '0', now_text, 'BYSCORE', 'LIMIT', '0', limit, 'WITHSCORES')
  if #found == 0 then return 0 end
  local due, confirmed, ended = {}, {}, 0
  for i = 1, #found, 2 do
    due[#due + 1] = found[i]
    if is_confirmed(found[i + 1]) then confirmed[#confirmed + 1] = found[i] end
  end
  local since = call('ZMSCORE', PLACES, unpack(due))
  for i, session in ipairs(due) do
    local admitted_at = tonumber(since[i])
    if admitted_at then end_stay(admitted_at) end
    if admitted_at and outlived(admitted_at) then
      bury(session)
      ended = ended + 1
    end
  end
  call('ZREM', POOL, unpack(due))
  local left = #confirmed > 0 and call('ZREM', LINE, unpack(confirmed)) or 0
  gone = gone + left
  if #due > #confirmed then left = left + call('ZREM', LINE, unpack(due)) end
  count('expired_in_line', left)
  count('expired_in_places', call('ZREM', PLACES, unpack(due)) - ended)
  count('ended', ended)
  return #due
end
