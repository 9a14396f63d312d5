-- Rule 4: what the rate's bucket holds now, and as of when. It is the same however often it was looked at, so looking
-- needs no write. O(1).
local credit_now
if CREATES or per_minute >= 0 then
  credit_now = function()
    local credit, at = string.match(call('HGET', STATE, 'bucket') or '0 0', '(%d+) (%d+)')
    local elapsed = math.min(math.max(now - at, 0), ADMISSION_COST)
    local capacity = math.max(ADMISSION_COST, per_minute * SECOND)
    return math.min(credit + elapsed * per_minute, capacity), math.max(now, tonumber(at))
  end
end
