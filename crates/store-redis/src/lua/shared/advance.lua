-- Whom this operation lets in.
local let_in = {}

-- How many wait and how many are let in, to be measured when what lapsed is gone; promote keeps them up.
local function measure()
  waiting, active = call('ZCARD', LINE), call('ZCARD', PLACES)
end

-- Rule 5: when a session that is heard of now lapses if nothing more is.
local function lapse(admitted_at, ttl)
  local expiry = now + ttl * SECOND
  if admitted_at and max_session >= 0 then expiry = math.min(expiry, admitted_at + max_session * SECOND) end
  return expiry
end

local function visited(admitted_at, confirmed)
  local ttl = admitted_at and active_ttl or waiting_ttl
  return lapse(admitted_at, confirmed and ttl or math.min(ttl, claim_ttl))
end

-- Ends a reply with whom the operation let in, where it let in anybody: epoch, now, the end of their claim, and their
-- sessions. So a process can vouch for them who does not find them again in a lost state (rule 7).
local function with_let_in(reply)
  if #let_in == 0 then return reply end
  for _, value in ipairs({ epoch, now, lapse(now, claim_ttl) }) do reply[#reply + 1] = value end
  for _, session in ipairs(let_in) do reply[#reply + 1] = session end
  return reply
end

-- How fast the line moves: start of the count, start of the running window, admissions in it and in the one before, who
-- left the line otherwise in both, and the stays that ended: see end_stay. Empty while it is not known.
local function write_pace(text)
  pace = text
  call('HSET', STATE, 'flow', text)
end

local function pace_of(numbers)
  return string.format('%d %d %d %d %d %d %d %d %d %d %d %d', unpack(numbers))
end

local function read_pace()
  local found = {}
  for text in string.gmatch(pace, '-?%d+') do found[#found + 1] = tonumber(text) end
  return found
end

-- The count begins once all places are taken, or a rate limits admissions: filling empty places says nothing.
local function start_pace()
  if pace == '' and waiting > 0 and not recovering and (mode == OPEN or mode == DRAINING)
    and (active >= quota or per_minute >= 0) then
    write_pace(pace_of({ now, now, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }))
  end
end

-- Counts what this operation moved, `waited` of them by admission.
local function keep_pace(waited)
  if pace ~= '' and (waited > 0 or gone ~= 0 or short + long > 0) then
    local since, window, current, previous, left, left_before, s, ms, l, s_before, ms_before, l_before =
      unpack(read_pace())
    local elapsed = now - window
    if elapsed >= 2 * PACE_WINDOW * SECOND then
      window, current, previous, left, left_before = now, 0, 0, 0, 0
      s, ms, l, s_before, ms_before, l_before = 0, 0, 0, 0, 0, 0
    elseif elapsed >= PACE_WINDOW * SECOND then
      window, current, previous, left, left_before = window + PACE_WINDOW * SECOND, 0, current, 0, left
      s, ms, l, s_before, ms_before, l_before = 0, 0, 0, s, ms, l
    end
    write_pace(pace_of({
      since, window, current + waited, previous, left + gone, left_before,
      s + short, ms + short_ms, l + long, s_before, ms_before, l_before,
    }))
  end
  gone, short, short_ms, long = 0, 0, 0, 0
  start_pace()
end

local function keep_credit(credit, at)
  call('HSET', STATE, 'bucket', string.format('%d %d', credit, at))
end

-- How long the admitted waited: a histogram of the bounds in WAIT_BUCKETS, and the sum.
local function count_waits(arrivals)
  if #arrivals == 0 then return end
  local bounds, buckets, sum = wait_buckets(), {}, 0
  for _, arrival in ipairs(arrivals) do
    local wait = math.max(now - arrival, 0)
    local bucket = 0
    for _, bound in ipairs(bounds) do
      if wait <= bound * SECOND then break end
      bucket = bucket + 1
    end
    buckets[bucket] = (buckets[bucket] or 0) + 1
    sum = sum + wait
  end
  for bucket, admissions in pairs(buckets) do count('waits:' .. bucket, admissions) end
  count('waits_us', sum)
end

-- Lets in up to `most` from the head of the line, looking at `batch` at most. Who lapsed there is removed instead.
-- `own` is the session that is served, if any: it is here now, `confirmed` if its ticket came back.
-- Returns how many were let in, how many left the line, and of `own` its expiry, or false if it lapsed.
-- O(batch * log n).
local function promote(most, batch, own, confirmed)
  local claimed = lapse(now, claim_ttl)
  local arrivals, seen, fate = {}, 0, nil
  while seen < batch and #arrivals < most do
    local heads = call('ZRANGE', LINE, 0, math.min(most - #arrivals, batch - seen) - 1, 'WITHSCORES')
    if #heads == 0 then break end
    local sessions = {}
    for i = 1, #heads, 2 do sessions[#sessions + 1] = heads[i] end
    local expiries = call('ZMSCORE', POOL, unpack(sessions))
    local places, pool, lapsed = {}, {}, {}
    for i, session in ipairs(sessions) do
      local is_back = expiries[i] and is_confirmed(expiries[i])
      if expiries[i] and tonumber(expiries[i]) > now then
        local expiry = session == own and visited(now, confirmed) or claimed
        if session == own then fate = expiry end
        places[#places + 1], places[#places + 2] = now, session
        pool[#pool + 1], pool[#pool + 2] = as_confirmed(expiry, is_back), session
        arrivals[#arrivals + 1] = heads[2 * i]
        let_in[#let_in + 1] = session
      else
        if session == own then fate = false end
        if is_back then gone = gone + 1 end
        lapsed[#lapsed + 1] = session
      end
    end
    call('ZREMRANGEBYRANK', LINE, 0, #sessions - 1)
    if #places > 0 then
      call('ZADD', PLACES, unpack(places))
      call('ZADD', POOL, unpack(pool))
    end
    if #lapsed > 0 then call('ZREM', POOL, unpack(lapsed)) end
    count('expired_in_line', #lapsed)
    seen = seen + #sessions
  end
  count_waits(arrivals)
  waiting, active = waiting - seen, active + #arrivals
  return #arrivals, seen, fate
end

local function admit_next(own, confirmed)
  local most = math.min(quota - active, ADVANCE_BATCH)
  if (mode ~= OPEN and mode ~= DRAINING) or most <= 0 or waiting == 0 or recovering then return 0, 0, nil end
  local credit, at
  if per_minute >= 0 then
    credit, at = credit_now()
    most = math.min(most, math.floor(credit / ADMISSION_COST))
  end
  local admitted, seen, fate = promote(most, ADVANCE_BATCH, own, confirmed)
  if admitted > 0 then
    if credit then keep_credit(credit - admitted * ADMISSION_COST, at) end
    count('admitted', admitted)
  end
  return admitted, seen, fate
end

-- Rule 2: while there are places, the rate allows it and the line is not empty, the lowest arrival moves to places.
-- `newly` says that `own` came to the line just now, so that it did not wait. Returns the same as promote.
local function advance(own, confirmed, newly)
  local admitted, seen, fate = admit_next(own, confirmed)
  keep_pace(admitted - ((fate and newly) and 1 or 0))
  return admitted, seen, fate
end
