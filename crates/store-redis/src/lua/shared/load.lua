-- Reads the clock, the rules in force and what every operation needs of the state. In front of it stand the limits and codes
-- that Rust defines, and the reading of the rules: a local of the name of each, a number, text or nil.
--
-- ARGV[1] is the instant in microseconds since 1970 where a test sets the clock, else '' for the server's own.
-- A queue without rules ends the script with { UNKNOWN_QUEUE }, unless the script is the one that CREATES it.
-- A queue whose state is gone, or contradicts itself, has lost it: recovery begins (rule 7).
-- Costs 5 or 6 commands of O(1).
if not mode and not CREATES then return { UNKNOWN_QUEUE } end

-- As text too: a number is written out for every command it is passed to.
local now_text = ARGV[1]
if now_text == '' then
  local time = call('TIME')
  now_text = time[1] .. string.sub('000000' .. time[2], -6)
end
local now = tonumber(now_text)

local waiting, active = call('ZCARD', LINE), call('ZCARD', ACTIVE)
local state = call('HMGET', STATE, 'state_since', 'recovery_since', 'used_at', 'waited', 'gap', 'pace', 'reached')
local state_since, recovery_since = tonumber(state[1]), tonumber(state[2]) or 0
local used_at, waited, gap, pace = tonumber(state[3]) or now, state[4] == '1', state[5] or '', state[6] or ''
-- The latest arrival that was admitted in its turn, as text: it is passed on.
local reached = state[7] or '0'
-- How many sessions were active before the recovery, when they were counted, what was reached by then, and how many of them
-- are accounted for.
local known, known_at, known_reached, settled = 0, 0, 0, 0
-- Whether nobody new is admitted, and whether slots are reserved.
local recovering, reserving = false, false

local function find_recovery()
  recovering = recovery_since > 0 and now < recovery_since + waiting_ttl * SECOND
  reserving = recovery_since > 0 and now < recovery_since + active_ttl * SECOND
end

-- Rule 7: recovery begins now, with so many active sessions counted then, of whom those in the state are accounted for.
local function begin_recovery(counted_at)
  recovery_since, known, known_at, known_reached, settled, gap = now, active, counted_at, tonumber(reached), active, ''
  find_recovery()
  if WRITES then
    call('HSET', STATE, 'recovery_since', now, 'known', known, 'known_at', known_at, 'known_reached', reached,
      'settled', settled, 'gap', gap)
  end
end

if mode then
  if not state_since then
    state_since, used_at, pace = now, now, ''
    if WRITES then call('HSET', STATE, 'state_since', now, 'used_at', now, 'provisional', 1) end
    begin_recovery(0)
  elseif recovery_since > 0 then
    find_recovery()
    -- Other rules may reserve for longer.
    if reserving or CREATES then
      local counts = call('HMGET', STATE, 'known', 'known_at', 'known_reached', 'settled')
      known, known_at = tonumber(counts[1]) or 0, tonumber(counts[2]) or 0
      known_reached, settled = tonumber(counts[3]) or 0, tonumber(counts[4]) or 0
    end
  end
  if WRITES and call('ZCARD', POOL) ~= waiting + active then
    -- A key was lost. What is left can't be told from what is not, so the tickets bring back all of it.
    local counted_at = active > 0 and now or 0
    begin_recovery(counted_at)
    call('UNLINK', LINE, ACTIVE, POOL)
    waiting, active, settled = 0, 0, 0
    call('HSET', STATE, 'settled', 0)
  end
end

-- Slots kept for active sessions that have not returned yet, and those that may be given to the line.
local function reserved()
  return reserving and math.max(known - settled, 0) or 0
end

local function free_slots()
  return quota - active - reserved()
end

-- Rule 4: what the rate's bucket holds now. It is the same however often it was looked at, so looking needs no write, unless the
-- clock stepped back: then what was counted by then counts from now on. O(1).
local credit_now, read_bucket
if CREATES or admissions_per_minute then
  read_bucket = function()
    local credit, at = string.match(call('HGET', STATE, 'rate_bucket') or '0 0', '(%d+) (%d+)')
    if WRITES and tonumber(at) > now then
      at = now
      call('HSET', STATE, 'rate_bucket', string.format('%d %d', credit, now))
    end
    return credit, at
  end
  credit_now = function()
    local credit, at = read_bucket()
    local elapsed = math.min(math.max(now - at, 0), ADMISSION_COST)
    local capacity = math.max(ADMISSION_COST, admissions_per_minute * SECOND)
    return math.min(credit + elapsed * admissions_per_minute, capacity)
  end
end

local function admits()
  return mode == 'open' or mode == 'draining'
end

-- Whether nothing could move the line now: nobody can be admitted, and the pace does not begin to be counted.
local function stands_still()
  if waiting == 0 or recovering or not admits() then return true end
  local free = free_slots()
  local limited = free <= 0 or admissions_per_minute
  if pace == '' and limited then return false end
  return free <= 0 or (admissions_per_minute and credit_now() < ADMISSION_COST)
end
