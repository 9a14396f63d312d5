-- The operations of a line. They are made only when they are needed: a poll at which nobody moves needs none of them, and
-- making them takes longer than that poll.
local function line_operations()
  -- Sessions that left the line in this operation, other than by admission and confirmed, less those that came back.
  local departures = 0
  -- StayCounts that ended in this operation: those shorter than active_ttl and their milliseconds, and the others.
  local short_stays, short_ms, long_stays = 0, 0, 0

  -- Counts events in the state. The server adds up in whole 64-bit numbers.
  local function count(event, times)
    if times > 0 then call('HINCRBY', STATE, event, times) end
  end

  -- How many wait and how many are active.
  local function measure()
    waiting, active = call('ZCARD', LINE), call('ZCARD', ACTIVE)
  end

  -- Whether the expiry tells that no ticket of this waiting session ever came back: only a visit with one moves it beyond
  -- claim_ttl.
  local function is_unconfirmed(arrival, expiry)
    return expiry <= arrival + claim_ttl * SECOND
  end

  local function leaves_line(arrival, expiry)
    if not is_unconfirmed(arrival, expiry) then departures = departures + 1 end
  end

  local function joins_line()
    departures = departures - 1
  end

  local function record_stay(admitted_at)
    local stay = math.max(now - admitted_at, 0)
    if stay < active_ttl * SECOND then
      short_stays, short_ms = short_stays + 1, short_ms + math.floor(stay / 1000)
    else
      long_stays = long_stays + 1
    end
  end

  -- Rule 8: a tombstone keeps the session's tickets from returning for `ttl` seconds, or as long as any could.
  local function add_tombstone(session, ttl)
    call('ZADD', ENDED, now + (ttl or math.max(hold_ttl, active_ttl)) * SECOND, session)
  end

  -- When the session's tombstone expires; nil if it has none that still stands.
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

  -- Whether a slot taken at `admitted_at` has lasted as long as max_session lets it.
  local function exceeded_max_session(admitted_at)
    return max_session and admitted_at + max_session * SECOND <= now
  end

  -- Rule 5: when a session that is heard of now expires if nothing more is.
  local function expiry_of(admitted_at, ttl)
    local expiry = now + ttl * SECOND
    if admitted_at and max_session then expiry = math.min(expiry, admitted_at + max_session * SECOND) end
    return expiry
  end

  local function visited(admitted_at, confirmed)
    local ttl = admitted_at and active_ttl or waiting_ttl
    return expiry_of(admitted_at, confirmed and ttl or math.min(ttl, claim_ttl))
  end

  -- Those whose time in `key` is up, the longest due first. O(log n + limit).
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
          -- Ended before: its slot was taken until its last credential expired.
        elseif exceeded_max_session(admitted_at) then
          add_tombstone(session)
          count('ended', 1)
        else
          expired = expired + 1
          -- Rule 7: its slot stays reserved if it was not heard of since the recovery began, unless it never showed up to
          -- claim it.
          local heard_until = recovery_since + math.floor(active_ttl * SECOND * ACTIVE_SHARE / ACTIVE_OF)
          local claimed = expiry > admitted_at + claim_ttl * SECOND
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

  -- How fast the line moves: start of the count, start of the running window, admissions in it and in the one before, who
  -- left the line otherwise in both, and the stays that ended: see record_stay. Empty while it is not known.
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

  -- The count begins once all slots are taken, or a rate limits admissions: filling free slots says nothing.
  local function start_pace()
    if pace == '' and waiting > 0 and not recovering and admits() and (free_slots() <= 0 or admissions_per_minute) then
      write_pace(pace_of({ now, now, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }))
    end
  end

  -- Counts what this operation moved, `waited` of them by admission.
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

  -- The pace that other rules let expect of this one: see Pace::under.
  local function change_pace(mode_before, quota_before, rate_before, pace_before)
    local filling = free_slots() > 0 and not admissions_per_minute
    local other = mode ~= mode_before or admissions_per_minute ~= rate_before or quota_before == 0
    pace = pace_before
    if filling or other or pace == '' then
      write_pace('')
    else
      local found = read_pace()
      for i = 3, 4 do found[i] = math.floor(found[i] * quota / quota_before) end
      write_pace(pace_of(found))
    end
    start_pace()
  end

  local function save_credit(credit)
    call('HSET', STATE, 'rate_bucket', string.format('%d %d', credit, now))
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

  -- Admits up to `most` from the head of the line, looking at `batch` at most. Expired ones there are removed instead.
  -- `own` is the session that is served, if any: it is here now, `confirmed` if its ticket came back.
  -- Returns how many were admitted, how many left the line, and of `own` its expiry, or false if it had expired.
  -- O(batch * log n).
  local function admit_from_head(most, batch, own, confirmed)
    local claimed = expiry_of(now, claim_ttl)
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
    if admissions_per_minute then
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

  -- Rule 2: while there are free slots, the rate allows it and the line is not empty, the lowest arrival is admitted.
  -- `newly` says that `own` came to the line just now, so that it did not wait. Returns the same as admit_from_head.
  local function advance(own, confirmed, newly)
    local admitted, seen, own_expiry = admit_next(own, confirmed)
    save_pace(admitted - ((own_expiry and newly) and 1 or 0))
    return admitted, seen, own_expiry
  end

  -- Rule 8: ends a session, present or away, and keeps its tickets from returning. The slot of an active one is taken until
  -- the last credential that was issued for it has expired. Counts `event` if it was present. `returned` says that its own
  -- ticket shows that it was active. Returns what it was. O(batch * log n).
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
        local last_credential = math.min(now + credential_ttl * SECOND, tonumber(call('ZSCORE', POOL, session)))
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

  return {
    advance = advance, add_tombstone = add_tombstone, change_pace = change_pace, clear_tombstones = clear_tombstones, count = count,
    count_waits = count_waits, expired_in = expired_in, end_session = end_session, record_stay = record_stay, ended_until = ended_until,
    expiry_of = expiry_of, joins_line = joins_line, save_credit = save_credit, save_pace = save_pace,
    leaves_line = leaves_line, measure = measure, exceeded_max_session = exceeded_max_session, admit_from_head = admit_from_head, reap = reap, settle = settle,
    start_pace = start_pace, visited = visited, write_pace = write_pace,
  }
end
