-- Visits and keepalives that came at once, one after the other: each joins or returns, keeps the presence up, advances, and is
-- told where the visitor stands.
--
-- KEYS[1..6] line, active, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the visits, each packed as VISIT_FORMAT: the ticket's session, HAS_TICKET, UNCONFIRMED and JOINS or not, arrival us,
--            admitted at us (-1 while it waits), signed at us, epoch, active sessions then (-1 if it does not say so) and the
--            arrival reached by then; under which session they join
-- ARGV[3]    for how many us the process could not serve the queue
-- ARGV[4..6] when the process heard last how many sessions are active, in us, how many, and the arrival reached by then (-1
--            each if it did not)
-- Returns    { DONE, now, mode, quota, visit .. }: a visit is a code, then
--            - of a session that is there, its position, or 0 and when it was admitted, and its expiry
--            - with BY_JOINING, its arrival
--            - with CHANGED, epoch, revision, waiting, active, recovering, pace and the arrival reached after it: else they are those of the visit
--              before. The first always has them
-- Cost       O(log n) each; at most REAP_BATCH sessions expire and ADVANCE_BATCH are admitted on the way of each
-- Rules      1, 2, 4, 5, 6, 7, 9
local visits, size = ARGV[2], #ARGV[2] / VISIT_SIZE
local reply = { DONE, now, mode, quota }
local filled = #reply
local line
local function operations()
  line = line or line_operations()
  return line
end

local function append(value)
  filled = filled + 1
  reply[filled] = value
end

if mode == 'bypass' then
  for i = 1, size do
    append(i == 1 and CHANGED or 0)
    if i == 1 then
      for _, value in ipairs({ epoch, revision, waiting, active, recovering and 1 or 0, pace, reached }) do append(value) end
    end
  end
  return reply
end

-- Rule 7: notes that the state is used now. A clock that stepped back re-anchors the state, so that nothing waits for it.
-- Visitors in line ask three times in waiting_ttl: that nobody came is no proof of an interruption, that nobody could come is.
local unserved, witnessed_at = tonumber(ARGV[3]), tonumber(ARGV[4])
local gap_from, gap_until = string.match(gap, '(%d+) (%d+)')
gap_from, gap_until = tonumber(gap_from) or 0, tonumber(gap_until) or 0
local idle = now - used_at
if idle < 0 then
  gap, gap_from, gap_until = '', 0, 0
  state_since, recovery_since = math.min(state_since, now), math.min(recovery_since, now)
  call('HSET', STATE, 'used_at', now, 'waited', 0, 'gap', '', 'stepped_back', 1, 'state_since', state_since, 'recovery_since', recovery_since)
  if admissions_per_minute then read_bucket() end
  local empty_since = tonumber(call('HGET', STATE, 'empty_since'))
  if empty_since and empty_since > now then call('HSET', STATE, 'empty_since', now) end
  find_recovery()
elseif idle >= CLOCK_GRAIN then
  local expired = now >= gap_until + active_ttl * SECOND
  if idle >= GAP_MIN and (expired or idle > gap_until - gap_from) then
    gap_from, gap_until = used_at, now
    gap = string.format('%d %d', gap_from, gap_until)
  end
  call('HSET', STATE, 'used_at', now, 'waited', waiting > 0 and 1 or 0, 'gap', gap)
end
local interrupted = waited and math.min(idle, unserved) * 2 >= waiting_ttl * SECOND
local interrupted_since = used_at

-- The latest census from before the recovery tells who has to return.
local function learn(at, count, reached_then)
  local of_before = at >= 0 and at < recovery_since and recovery_since - at < active_ttl * SECOND
  if of_before and at > known_at then
    known, known_at, known_reached = count, at, reached_then
    call('HSET', STATE, 'known', known, 'known_at', known_at, 'known_reached', known_reached)
  end
end

-- Whether all that had expired is removed.
local reaped = false
local sent
for i = 0, size - 1 do
  local bearer, flags, ticket_arrival, ticket_admitted, signed_at, ticket_epoch, census, ticket_reached, newcomer =
    struct.unpack(VISIT_FORMAT, visits, i * VISIT_SIZE + 1)
  local has_ticket, unconfirmed, joins = flags % 2 == 1, flags % 4 >= UNCONFIRMED, flags >= JOINS

  -- A ticket of a higher epoch shows that provisional rules are older than what was in force.
  if has_ticket and ticket_epoch > epoch and now < signed_at + hold_ttl * SECOND
      and call('HGET', STATE, 'provisional') == '1' then
    epoch, revision = ticket_epoch, revision + 1
    save_rules()
    begin(true, true)
    gap_from, gap_until, interrupted, reaped = 0, 0, false, false
  end
  local is_ours = has_ticket and ticket_epoch == epoch

  -- Rule 7: a ticket that is older than the state, or was signed while the state was not used, shows that it lost something.
  if is_ours and signed_at < state_since and recovery_since < state_since then
    begin_recovery(0)
    gap_from, gap_until, interrupted = 0, 0, false
  elseif is_ours and signed_at > gap_from + CLOCK_GRAIN and signed_at < gap_until then
    begin_recovery(gap_from)
    gap_from, gap_until, interrupted = 0, 0, false
  elseif interrupted then
    begin_recovery(interrupted_since)
    gap_from, gap_until, interrupted = 0, 0, false
  end
  if reserving then
    -- Tickets that never came back may have been collected, so nothing is believed for their sake.
    if is_ours and census >= 0 and not unconfirmed then learn(signed_at, census, ticket_reached) end
    learn(witnessed_at, tonumber(ARGV[5]), tonumber(ARGV[6]))
  end

  if not reaped then
    if line or #call('ZRANGE', POOL, '0', now_text, 'BYSCORE', 'LIMIT', '0', '1') > 0 then
      reaped = operations().reap(REAP_BATCH) < REAP_BATCH
    else
      reaped = true
    end
  end

  local formed = waiting == 0
  local code, session, confirmed, arrival, position, admitted_at, expiry = NOT_JOINED, nil, false, nil, nil, nil, nil

  if is_ours then
    if ticket_admitted >= 0 then
      admitted_at = call('ZSCORE', ACTIVE, bearer)
      position = not admitted_at and call('ZRANK', LINE, bearer)
    else
      position = call('ZRANK', LINE, bearer)
      admitted_at = not position and call('ZSCORE', ACTIVE, bearer)
    end
    admitted_at = tonumber(admitted_at)
    local good_until, unheard
    if reserving or not (position or admitted_at) then
      good_until = signed_at + (ticket_admitted >= 0 and active_ttl or hold_ttl) * SECOND
      if unconfirmed then
        local claim = signed_at + claim_ttl * SECOND
        -- A session that could still claim its position at the census has claim_ttl from the beginning of the recovery on.
        if reserving and known_at > 0 and signed_at < recovery_since and claim > known_at then
          claim = math.max(claim, recovery_since + claim_ttl * SECOND)
        end
        good_until = math.min(good_until, claim)
      end
      -- Whether the bearer of a ticket that says "waiting" had been admitted before the recovery and has not heard of it: they
      -- were present at the census and came before somebody who had been admitted. Their slot is reserved, unless max_session
      -- has ended it since.
      unheard = reserving and ticket_admitted < 0 and ticket_arrival <= known_reached
        and signed_at < known_at and known_at < signed_at + waiting_ttl * SECOND
        and not (max_session and known_at + max_session * SECOND <= now)
    end
    local waited = position and unheard and active < quota and now < good_until
    if waited then
      call('ZREM', LINE, bearer)
      waiting, position = waiting - 1, nil
    end
    if position then
      code = RENEWED
    elseif admitted_at then
      if operations().ended_until(bearer) then
        admitted_at = nil
      elseif line.exceeded_max_session(admitted_at) then
        line.record_stay(admitted_at)
        call('ZREM', ACTIVE, bearer)
        call('ZREM', POOL, bearer)
        line.add_tombstone(bearer)
        line.count('ended', 1)
        active, admitted_at = active - 1, nil
      else
        code = RENEWED
      end
    else
      -- Back to the line at the original arrival, or back to a slot for a session that was admitted a short while ago.
      local line = operations()
      local was_admitted_at = ticket_admitted >= 0 and ticket_admitted or unheard and known_at
      local exceeded_max_session = was_admitted_at and line.exceeded_max_session(was_admitted_at)
      if now < good_until and not exceeded_max_session and not line.ended_until(bearer) then
        code = RESTORED
        if was_admitted_at then line.settle(1) end
        if was_admitted_at and active < quota then
          call('ZADD', ACTIVE, was_admitted_at, bearer)
          active, admitted_at = active + 1, was_admitted_at
        else
          call('ZADD', LINE, ticket_arrival, bearer)
          waiting = waiting + 1
          line.joins_line()
          if mode == 'draining' then call('HDEL', STATE, 'empty_since') end
        end
        if ticket_arrival > (tonumber(call('HGET', STATE, 'arrival')) or 0) then
          call('HSET', STATE, 'arrival', ticket_arrival)
        end
        if not waited then line.count('returned', 1) end
        if unconfirmed then line.count('confirmed', 1) end
      end
    end
    if code ~= NOT_JOINED then session, confirmed, arrival = bearer, true, ticket_arrival end
  end

  if not session and joins then
    local line = operations()
    position = call('ZRANK', LINE, newcomer)
    admitted_at = not position and tonumber(call('ZSCORE', ACTIVE, newcomer)) or nil
    if line.ended_until(newcomer) then
      position, admitted_at = nil, nil
    elseif position or admitted_at then
      -- The same id joins only once.
      code, session = RENEWED + BY_JOINING, newcomer
      arrival = admitted_at or tonumber(call('ZSCORE', LINE, newcomer))
    elseif mode ~= 'closed' and mode ~= 'draining' then
      -- Rule 1: to the end of the line.
      code, session = JOINED + BY_JOINING, newcomer
      arrival = math.max(now, (tonumber(call('HGET', STATE, 'arrival')) or 0) + 1)
      call('HSET', STATE, 'arrival', arrival)
      call('ZADD', LINE, arrival, newcomer)
      waiting = waiting + 1
      line.count('joined', 1)
    end
  end

  -- Rule 5: a visit with a ticket pushes the expiry ahead, unless it is still far ahead.
  local present = code % BY_JOINING == RENEWED
  if session and present then
    expiry = tonumber(call('ZSCORE', POOL, session))
    if confirmed then
      local ttl, share, of = waiting_ttl, LINE_SHARE, LINE_OF
      if admitted_at then ttl, share, of = active_ttl, ACTIVE_SHARE, ACTIVE_OF end
      local target = now + ttl * SECOND
      if admitted_at and max_session then target = math.min(target, admitted_at + max_session * SECOND) end
      -- The first ticket that comes back confirms the session.
      local first = unconfirmed and expiry <= signed_at + claim_ttl * SECOND
      if first then call('HINCRBY', STATE, 'confirmed', 1) end
      if first or expiry > target or math.max(expiry - now, 0) * of < math.max(target - now, 0) * share then
        expiry = target
        call('ZADD', POOL, expiry, session)
      end
    end
  elseif session then
    expiry = line.visited(admitted_at, confirmed)
    call('ZADD', POOL, expiry, session)
  end

  if line or not stands_still() then
    local _, seen, own_expiry = operations().advance(session, confirmed, not present)
    if formed and waiting > 0 then
      if pace ~= '' then line.write_pace('') end
      line.start_pace()
    end
    if own_expiry == false then
      code, session = NOT_JOINED, nil
    elseif own_expiry then
      admitted_at, position, expiry = now, nil, own_expiry
    elseif position and session then
      -- Those who left did so from the head, before this session.
      position = position - seen
    end
  end

  -- Only the operations of the line and a recovery change its numbers.
  local changed = not sent
  if changed or line or recovering then
    local around = { epoch, revision, waiting, active, recovering and 1 or 0, pace, reached }
    for j = 1, #around do changed = changed or around[j] ~= sent[j] end
    sent = around
  end
  append(changed and code + CHANGED or code)
  if session then
    if admitted_at then
      append(0)
      append(admitted_at)
    else
      append((position or call('ZRANK', LINE, session)) + 1)
    end
    append(expiry)
    if code >= BY_JOINING then append(arrival) end
  end
  if changed then
    for j = 1, #sent do append(sent[j]) end
  end
end
return reply
