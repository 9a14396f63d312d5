-- Rule 4: token buckets. A bucket is stored as its content in units and the time until which they were earned, in one text.
local buckets = {}

-- Reads a stored bucket; a new one is full.
function buckets.read(text)
  local credit, at = string.match(text or '0 0', '(%d+) (%d+)')
  return tonumber(credit), tonumber(at)
end

function buckets.text(credit, at)
  return string.format('%d %d', credit, at)
end

-- Rules 4 and 21, J8: the content of a bucket at this time, and the time until which its units were earned: this time, or the
-- last whole multiple of the step. It holds one second of the rate, and at least one admission; or one step, and the fraction of
-- an admission that steps before it left.
function buckets.refill(credit, at, rate, step, time)
  local earned_until = step and time - time % (step * SECOND) or time
  local elapsed = math.min(math.max(earned_until - at, 0), math.max(step or 0, ELAPSED_MAX) * SECOND)
  local capacity = step and rate * step * SECOND + ADMISSION_COST - 1 or math.max(rate * SECOND, ADMISSION_COST)
  return math.min(credit + elapsed * rate, capacity, CREDIT_MAX), math.max(at, earned_until)
end
