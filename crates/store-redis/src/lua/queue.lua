-- Shared by the operations of a queue: the state of the call, the clock, recovery, and the rules of
-- the line.
--
-- The server runs one function at a time, so the state of the call is held in variables of the library. begin_call sets all of
-- them. Functions are created once, when the library is loaded. Limits and codes are prepended by Rust.
--
-- KEYS[1..6] of every operation: line, active, pool, ended, state, settings.
-- ARGV[1] is the time in microseconds since 1970 if a test sets the clock, otherwise '' for the server's time.

local LINE, ACTIVE, POOL, ENDED, STATE, SETTINGS
-- Whether the operation may write, and whether it creates queues.
local WRITES, CREATES
-- The current rules as a table of fields, and as stored in the settings. The table is never
-- modified.
local rules, rules_text
-- Also as text, which avoids formatting the number for every command.
local now, now_text
local waiting, active
local state_since, used_at, waited, gap, pace
-- The latest arrival that was admitted in order, as text.
local reached
-- Start of the recovery, number of active sessions before it, when they were counted, the arrival
-- reached by then, and how many of them are accounted for.
local recovery_since, known, known_at, known_reached, settled
-- Whether newcomers are not admitted, and whether slots are reserved.
local recovering, reserving
-- Departures of confirmed sessions from the line in this operation, other than by admission, minus
-- returns.
local departures
-- Stays that ended in this operation: the number and milliseconds of those shorter than active_ttl,
-- and the number of others.
local short_stays, short_ms, long_stays

-- Cache of the rules decoded last: they rarely differ between calls.
local decoded_text, decoded

local function read_rules(text)
  rules_text = text
  if text ~= decoded_text then
    decoded_text, decoded = text, cmsgpack.unpack(text)
  end
  rules = decoded
end

local function write_rules(changed)
  local text = cmsgpack.pack(changed)
  call('HSET', SETTINGS, 'rules', text)
  read_rules(text)
end

-- Changes these fields of the rules.
local function change_rules(changes)
  local changed = {}
  for field, value in pairs(rules) do changed[field] = value end
  for field, value in pairs(changes) do changed[field] = value end
  write_rules(changed)
end

local function find_recovery()
  recovering = recovery_since > 0 and now < recovery_since + rules.waiting_ttl * SECOND
  reserving = recovery_since > 0 and now < recovery_since + rules.active_ttl * SECOND
end

-- Rule 7: starts recovery now, with this many active sessions counted at counted_at. Those in the
-- state are accounted for.
local function begin_recovery(counted_at)
  recovery_since, known, known_at, known_reached, settled, gap = now, active, counted_at, tonumber(reached), active, ''
  find_recovery()
  if WRITES then
    call('HSET', STATE, 'recovery_since', now, 'known', known, 'known_at', known_at, 'known_reached', reached,
      'settled', settled, 'gap', gap)
  end
end

-- An empty line whose state begins now. `lost` means that an earlier state was lost, so it starts
-- in recovery. O(1): the old data is freed in the background.
local function begin_state(lost, provisional)
  call('UNLINK', LINE, ACTIVE, POOL, ENDED, STATE)
  waiting, active, state_since, used_at, waited, gap, pace = 0, 0, now, now, false, '', ''
  call('HSET', STATE, 'state_since', now, 'used_at', now, 'provisional', provisional and 1 or 0)
  recovery_since, recovering, reserving, reached = 0, false, false, '0'
  known, known_at, known_reached, settled = 0, 0, 0, 0
  if lost then begin_recovery(0) end
end

-- Reads the clock, the current rules and the state needed by every operation. `rules` is nil if the
-- queue does not exist. If the state of a queue is missing or inconsistent, it was lost: recovery
-- starts (rule 7). Costs 6 or 7 commands of O(1).
local function begin_call(keys, args, writes, creates)
  begin_clock(args)
  now, now_text = clock, clock_text
  LINE, ACTIVE, POOL, ENDED, STATE, SETTINGS = unpack(keys)
  WRITES, CREATES = writes, creates
  departures, short_stays, short_ms, long_stays = 0, 0, 0, 0
  recovering, reserving = false, false
  recovery_since, known, known_at, known_reached, settled = 0, 0, 0, 0, 0
  pace, gap, reached, waited, used_at, waiting, active = '', '', '0', false, now, 0, 0
  rules = nil
  local text = call('HGET', SETTINGS, 'rules')
  if not text then return end
  read_rules(text)
  waiting, active = call('ZCARD', LINE), call('ZCARD', ACTIVE)
  local state = call('HMGET', STATE, 'state_since', 'recovery_since', 'used_at', 'waited', 'gap', 'pace', 'reached')
  state_since, recovery_since = tonumber(state[1]), tonumber(state[2]) or 0
  used_at, waited, gap, pace = tonumber(state[3]) or now, state[4] == '1', state[5] or '', state[6] or ''
  reached = state[7] or '0'
  if not state_since then
    state_since, used_at, pace = now, now, ''
    if WRITES then call('HSET', STATE, 'state_since', now, 'used_at', now, 'provisional', 1) end
    begin_recovery(0)
  elseif recovery_since > 0 then
    find_recovery()
    -- Other rules may extend the reservation.
    if reserving or CREATES then
      local counts = call('HMGET', STATE, 'known', 'known_at', 'known_reached', 'settled')
      known, known_at = tonumber(counts[1]) or 0, tonumber(counts[2]) or 0
      known_reached, settled = tonumber(counts[3]) or 0, tonumber(counts[4]) or 0
    end
  end
  if WRITES and call('ZCARD', POOL) ~= waiting + active then
    -- A key was lost. Which of the remaining data is valid is unknown, so the tickets restore all
    -- of it.
    local counted_at = active > 0 and now or 0
    begin_recovery(counted_at)
    call('UNLINK', LINE, ACTIVE, POOL)
    waiting, active, settled = 0, 0, 0
    call('HSET', STATE, 'settled', 0)
  end
end

-- Slots reserved for active sessions that have not returned yet, and slots available to the line.
local function reserved()
  return reserving and math.max(known - settled, 0) or 0
end

local function free_slots()
  return rules.quota - active - reserved()
end

-- Rule 4: the content of the rate's bucket and its time. Reading needs no write, unless the clock
-- stepped back: the bucket is then re-anchored to now. O(1).
local function read_bucket()
  local credit, at = string.match(call('HGET', STATE, 'rate_bucket') or '0 0', '(%d+) (%d+)')
  if WRITES and tonumber(at) > now then
    at = now
    call('HSET', STATE, 'rate_bucket', string.format('%d %d', credit, now))
  end
  return credit, at
end

local function credit_now()
  local credit, at = read_bucket()
  local elapsed = math.min(math.max(now - at, 0), ADMISSION_COST)
  local capacity = math.max(ADMISSION_COST, rules.admissions_per_minute * SECOND)
  return math.min(credit + elapsed * rules.admissions_per_minute, capacity)
end

local function save_credit(credit)
  call('HSET', STATE, 'rate_bucket', string.format('%d %d', credit, now))
end

local function admits()
  return rules.mode == 'open' or rules.mode == 'draining'
end

-- Whether nothing can move the line now: no session can be admitted, and pace counting does not
-- start.
local function stands_still()
  if waiting == 0 or recovering or not admits() then return true end
  local free = free_slots()
  local limited = free <= 0 or rules.admissions_per_minute
  if pace == '' and limited then return false end
  return free <= 0 or (rules.admissions_per_minute and credit_now() < ADMISSION_COST)
end

-- Counts events in the state. The server adds 64-bit integers.
local function count(event, times)
  if times > 0 then call('HINCRBY', STATE, event, times) end
end

-- The numbers of waiting and active sessions.
local function measure()
  waiting, active = call('ZCARD', LINE), call('ZCARD', ACTIVE)
end

-- Whether the expiry shows that no ticket of this waiting session was ever returned: only a visit
-- with a ticket extends it beyond claim_ttl.
local function is_unconfirmed(arrival, expiry)
  return expiry <= arrival + rules.claim_ttl * SECOND
end

local function leaves_line(arrival, expiry)
  if not is_unconfirmed(arrival, expiry) then departures = departures + 1 end
end

local function joins_line()
  departures = departures - 1
end

local function record_stay(admitted_at)
  local stay = math.max(now - admitted_at, 0)
  if stay < rules.active_ttl * SECOND then
    short_stays, short_ms = short_stays + 1, short_ms + math.floor(stay / 1000)
  else
    long_stays = long_stays + 1
  end
end

-- Rule 8: a tombstone rejects the session's tickets for `ttl` seconds, or as long as any could be
-- valid.
local function add_tombstone(session, ttl)
  call('ZADD', ENDED, now + (ttl or math.max(rules.hold_ttl, rules.active_ttl)) * SECOND, session)
end

-- The expiry of the session's tombstone; nil if there is none in force.
local function ended_until(session)
  local expires_at = tonumber(call('ZSCORE', ENDED, session))
  if expires_at and expires_at > now then return expires_at end
end

local function settle(by)
  if reserving then
    settled = math.max(settled + by, 0)
    call('HSET', STATE, 'settled', settled)
  end
end

-- Whether an active session admitted at `admitted_at` has reached max_session.
local function exceeded_max_session(admitted_at)
  return rules.max_session and admitted_at + rules.max_session * SECOND <= now
end

-- Rule 5: the expiry of a session that is visited now.
local function expiry_of(admitted_at, ttl)
  local expiry = now + ttl * SECOND
  if admitted_at and rules.max_session then expiry = math.min(expiry, admitted_at + rules.max_session * SECOND) end
  return expiry
end

local function visited(admitted_at, confirmed)
  local ttl = admitted_at and rules.active_ttl or rules.waiting_ttl
  return expiry_of(admitted_at, confirmed and ttl or math.min(ttl, rules.claim_ttl))
end

-- Expired members of `key`, earliest expiry first. O(log n + limit).
local function expired_in(key, limit)
  return call('ZRANGE', key, '0', now_text, 'BYSCORE', 'LIMIT', '0', limit)
end

-- Rule 6: removes up to `limit` expired sessions; returns how many. O(limit * log n).
local function reap(limit)
  local found = call('ZRANGE', POOL, '0', now_text, 'BYSCORE', 'LIMIT', '0', limit, 'WITHSCORES')
  if #found == 0 then return 0 end
  local due = {}
  for i = 1, #found, 2 do due[#due + 1] = found[i] end
  local arrivals, admissions = call('ZMSCORE', LINE, unpack(due)), call('ZMSCORE', ACTIVE, unpack(due))
  local left, expired = 0, 0
  for i, session in ipairs(due) do
    local arrival, admitted_at, expiry = tonumber(arrivals[i]), tonumber(admissions[i]), tonumber(found[2 * i])
    if arrival then
      leaves_line(arrival, expiry)
      left = left + 1
    elseif admitted_at then
      record_stay(admitted_at)
      if ended_until(session) then
        -- The session was ended before; its slot was held until its last credential expired.
      elseif exceeded_max_session(admitted_at) then
        add_tombstone(session)
        count('ended', 1)
      else
        expired = expired + 1
        -- Rule 7: its slot stays reserved if it had no visit since the recovery began, unless it
        -- was never claimed.
        local heard_until = recovery_since + math.floor(rules.active_ttl * SECOND * ACTIVE_SHARE / ACTIVE_OF)
        local claimed = expiry > admitted_at + rules.claim_ttl * SECOND
        if reserving and admitted_at < recovery_since and expiry < heard_until and claimed then settle(-1) end
      end
    end
  end
  call('ZREM', POOL, unpack(due))
  call('ZREM', LINE, unpack(due))
  call('ZREM', ACTIVE, unpack(due))
  count('expired_waiting', left)
  count('expired_active', expired)
  measure()
  return #due
end

-- Removes up to `limit` tombstones that have expired; returns how many. O(limit * log n).
local function clear_tombstones(limit)
  local due = expired_in(ENDED, limit)
  if #due > 0 then call('ZREM', ENDED, unpack(due)) end
  return #due
end

-- The pace of the line: start of counting, start of the current window, admissions in this window
-- and the previous one, departures in both, and the stays that ended (see record_stay). Empty while
-- unknown.
local function write_pace(text)
  pace = text
  call('HSET', STATE, 'pace', text)
end

local function pace_of(numbers)
  return string.format('%d %d %d %d %d %d %d %d %d %d %d %d', unpack(numbers))
end

local function read_pace()
  local found = {}
  for text in string.gmatch(pace, '-?%d+') do found[#found + 1] = tonumber(text) end
  return found
end

-- Counting starts when all slots are taken or a rate limits admissions: filling free slots says
-- nothing about the pace.
local function start_pace()
  if pace == '' and waiting > 0 and not recovering and admits() and (free_slots() <= 0 or rules.admissions_per_minute) then
    write_pace(pace_of({ now, now, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }))
  end
end

-- Counts the movements of this operation, `waited_for` of them by admission.
local function save_pace(waited_for)
  if pace ~= '' and (waited_for > 0 or departures ~= 0 or short_stays + long_stays > 0) then
    local since, window, current, previous, left, left_before, s, ms, l, s_before, ms_before, l_before =
      unpack(read_pace())
    local elapsed = math.max(now - window, 0)
    if elapsed >= 2 * PACE_WINDOW * SECOND then
      window, current, previous, left, left_before = now, 0, 0, 0, 0
      s, ms, l, s_before, ms_before, l_before = 0, 0, 0, 0, 0, 0
    elseif elapsed >= PACE_WINDOW * SECOND then
      window, current, previous, left, left_before = window + PACE_WINDOW * SECOND, 0, current, 0, left
      s, ms, l, s_before, ms_before, l_before = 0, 0, 0, s, ms, l
    end
    write_pace(pace_of({
      since, window, current + waited_for, previous, left + departures, left_before,
      s + short_stays, ms + short_ms, l + long_stays, s_before, ms_before, l_before,
    }))
  end
  departures, short_stays, short_ms, long_stays = 0, 0, 0, 0
  start_pace()
end

-- Scales the pace to other rules; see Pace::under.
local function change_pace(mode_before, quota_before, rate_before, pace_before)
  local filling = free_slots() > 0 and not rules.admissions_per_minute
  local other = rules.mode ~= mode_before or rules.admissions_per_minute ~= rate_before or quota_before == 0
  pace = pace_before
  if filling or other or pace == '' then
    write_pace('')
  else
    local found = read_pace()
    for i = 3, 4 do found[i] = math.floor(found[i] * rules.quota / quota_before) end
    write_pace(pace_of(found))
  end
  start_pace()
end

-- Waits of admitted sessions: a histogram with the bounds in WAIT_BUCKETS, and the sum.
local function count_waits(arrivals)
  if #arrivals == 0 then return end
  local buckets, sum = {}, 0
  for _, arrival in ipairs(arrivals) do
    local wait = math.max(now - arrival, 0)
    local bucket = 0
    for _, bound in ipairs(WAIT_BUCKETS) do
      if wait <= bound * SECOND then break end
      bucket = bucket + 1
    end
    buckets[bucket] = (buckets[bucket] or 0) + 1
    sum = sum + wait
  end
  for bucket, admissions in pairs(buckets) do count('waits:' .. bucket, admissions) end
  count('waits_us', sum)
end

-- Admits up to `most` sessions from the head of the line and examines at most `batch`. Expired
-- sessions there are removed. `own` is the session being served, if any: it is present now,
-- `confirmed` if its ticket was returned. Returns the number admitted, the number that left the
-- line, and the expiry of `own`, or false if it had expired. O(batch * log n).
local function admit_from_head(most, batch, own, confirmed)
  local claimed = expiry_of(now, rules.claim_ttl)
  local arrivals, seen, own_expiry = {}, 0, nil
  while seen < batch and #arrivals < most do
    local heads = call('ZRANGE', LINE, 0, math.min(most - #arrivals, batch - seen) - 1, 'WITHSCORES')
    if #heads == 0 then break end
    local sessions = {}
    for i = 1, #heads, 2 do sessions[#sessions + 1] = heads[i] end
    local expiries = call('ZMSCORE', POOL, unpack(sessions))
    local slots, pool, expired = {}, {}, {}
    for i, session in ipairs(sessions) do
      local expires_at = tonumber(expiries[i]) or 0
      if expires_at > now then
        local expiry = session == own and visited(now, confirmed) or claimed
        if session == own then own_expiry = expiry end
        slots[#slots + 1], slots[#slots + 2] = now, session
        pool[#pool + 1], pool[#pool + 2] = expiry, session
        arrivals[#arrivals + 1] = heads[2 * i]
      else
        if session == own then own_expiry = false end
        leaves_line(tonumber(heads[2 * i]), expires_at)
        expired[#expired + 1] = session
      end
    end
    call('ZREMRANGEBYRANK', LINE, 0, #sessions - 1)
    if #slots > 0 then
      call('ZADD', ACTIVE, unpack(slots))
      call('ZADD', POOL, unpack(pool))
    end
    if #expired > 0 then call('ZREM', POOL, unpack(expired)) end
    count('expired_waiting', #expired)
    seen = seen + #sessions
  end
  count_waits(arrivals)
  local last = arrivals[#arrivals]
  if last and tonumber(last) > tonumber(reached) then
    reached = last
    call('HSET', STATE, 'reached', reached)
  end
  waiting, active = waiting - seen, active + #arrivals
  return #arrivals, seen, own_expiry
end

local function admit_next(own, confirmed)
  local most = math.min(free_slots(), ADVANCE_BATCH)
  if not admits() or most <= 0 or waiting == 0 or recovering then return 0, 0, nil end
  local credit
  if rules.admissions_per_minute then
    credit = credit_now()
    most = math.min(most, math.floor(credit / ADMISSION_COST))
  end
  local admitted, seen, own_expiry = admit_from_head(most, ADVANCE_BATCH, own, confirmed)
  if admitted > 0 then
    if credit then save_credit(credit - admitted * ADMISSION_COST) end
    count('admitted', admitted)
  end
  return admitted, seen, own_expiry
end

-- Rule 2: while slots are free, the rate allows it and the line is not empty, the session with the
-- lowest arrival is admitted. `newly` means that `own` has just joined, so it did not wait. Returns
-- the same as admit_from_head.
local function advance(own, confirmed, newly)
  local admitted, seen, own_expiry = admit_next(own, confirmed)
  save_pace(admitted - ((own_expiry and newly) and 1 or 0))
  return admitted, seen, own_expiry
end

-- Rule 8: ends a session, present or away, and rejects its tickets. The slot of an active session
-- is held until the last credential issued for it has expired. Counts `event` if it was present.
-- `returned` means that its own ticket proves that it was active. Returns the kind of session
-- removed. O(batch * log n).
local function end_session(session, event, tombstone_ttl, returned)
  reap(REAP_BATCH)
  clear_tombstones(REAP_BATCH)
  local was_ended, removal = ended_until(session), REMOVED_ABSENT
  local arrival, admitted_at = tonumber(call('ZSCORE', LINE, session)), nil
  if arrival then
    leaves_line(arrival, tonumber(call('ZSCORE', POOL, session)))
    call('ZREM', LINE, session)
    call('ZREM', POOL, session)
    removal = REMOVED_WAITING
  else
    admitted_at = tonumber(call('ZSCORE', ACTIVE, session))
    if admitted_at and not was_ended then
      local last_credential = math.min(now + rules.credential_ttl * SECOND, tonumber(call('ZSCORE', POOL, session)))
      if last_credential > now then
        call('ZADD', POOL, last_credential, session)
      else
        record_stay(admitted_at)
        call('ZREM', ACTIVE, session)
        call('ZREM', POOL, session)
      end
      removal = REMOVED_ACTIVE
    elseif not admitted_at and returned and not was_ended then
      settle(1)
    end
  end
  if removal ~= REMOVED_ABSENT then count(event, 1) end
  add_tombstone(session, tombstone_ttl)
  measure()
  advance()
  return removal
end
