-- Where a session is: its rank in the line, from 0, or when it was let in; two nils if it is absent.
-- `in_places` says where to look first. O(log n) in line, O(1) in places.
local function locate(session, in_places)
  local admitted_at = in_places and call('ZSCORE', PLACES, session)
  local rank = not admitted_at and call('ZRANK', LINE, session)
  if not rank and not in_places then admitted_at = call('ZSCORE', PLACES, session) end
  return rank or nil, tonumber(admitted_at)
end

-- When the session's tombstone lapses; nil if it has none that still stands (rule 8).
local function ended_until(session)
  local till = tonumber(call('ZSCORE', ENDED, session))
  if till and till > now then return till end
end

-- The highest arrival of all so far (rule 1).
local function last_arrival()
  return tonumber(call('HGET', STATE, 'arrival')) or 0
end
