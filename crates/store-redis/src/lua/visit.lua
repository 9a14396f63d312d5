-- Visits and keepalives that came at once, one after the other: each joins or returns, keeps the presence up, advances, and is
-- told where the visitor stands. visit_poll.lua has answered the first of them, as far as they are polls at which nobody moves.
--
-- KEYS[1..6] line, places, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the visits, those with a ticket first, each packed as VISIT_FORMAT: the ticket's session, LET_IN or not and JOINS
--            or not, present until us (-1 if it does not say so; the latest come first), arrival us, admitted at us, signed at
--            us and epoch (-1 without a ticket); under which session they join.
--            Of a waiting ticket `admitted at` is -1, or, where the process vouches for the bearer, less than that: -T says
--            that they were let in at T
-- ARGV[3]    packed as TICKETS_FORMAT: how many have a ticket, how many of these were let in, the epoch of them all, or -1, when
--            the oldest was signed
-- Returns    { DONE, now, rules, waiting, active, recovering, pace, answered, believed, poll .., visit .., whom they let in .. }
--            where a poll is the rank and the expiry, or, of one let in, 0, when they were let in, and the expiry; `answered` of
--            them come first. Of one in line among the first `believed` it is the rank alone: the ticket says the expiry. The
--            other visits are who, presentation, arrival, admitted at or -1, rank, expiry, and waiting, active, recovering, pace
--            after it.
--            `who` is BY_TICKET or BY_JOINING, or NOBODY: then the five after it mean nothing
-- Cost       O(log n) each; at most REAP_BATCH sessions lapse and ADVANCE_BATCH are let in on the way of each
-- Rules      1, 2, 4, 5, 6, 7, 9
for i = answered, size - 1 do
  local bearer, flags, present_until, ticket_arrival, ticket_admitted, signed_at, ticket_epoch, newcomer =
    struct.unpack(VISIT_FORMAT, visits, i * VISIT_SIZE + 1)
  if reap(REAP_BATCH) > 0 then measure() end
  local formed = waiting == 0
  local who, how, session, confirmed = NOBODY, ABSENT, nil, false
  local arrival, rank, admitted_at, expiry

  if ticket_epoch == epoch then
    -- A ticket that is older than the state shows that the state was lost.
    if not lost and signed_at < began and now < taking_back_until then
      lost, recovering = true, true
      call('HSET', STATE, 'lost', 1)
    end
    local to_places = ticket_admitted >= 0
    local let_in_at = word(ticket_arrival, ticket_admitted, signed_at)
    rank, admitted_at = locate(bearer, let_in_at)
    local forgotten = let_in_at and not admitted_at
      and (lost_since(let_in_at) or rank and went_back_behind(bearer, ticket_arrival, let_in_at))
    if admitted_at and outlived(admitted_at) then
      end_stay(admitted_at)
      call('ZREM', PLACES, bearer)
      call('ZREM', POOL, bearer)
      bury(bearer)
      count('ended', 1)
      active, admitted_at = active - 1, nil
    elseif admitted_at or (rank and not forgotten) then
      who, how = BY_TICKET, PRESENT
    elseif rank or (let_in_at and to_places or forgotten or not to_places and now < signed_at + hold_ttl * SECOND)
      and not ended_until(bearer) then
      -- Rule 7: back to the line at the original arrival, or back to places for who was let in a short while ago.
      who, how = BY_TICKET, RETURNED
      if rank then
        call('ZREM', LINE, bearer)
        waiting, rank = waiting - 1, nil
        if is_confirmed(call('ZSCORE', POOL, bearer)) then gone = gone + 1 else count('confirmed', 1) end
      else
        if ticket_arrival > last_arrival() then call('HSET', STATE, 'arrival', ticket_arrival) end
        count('returned', 1)
        -- The ticket of the visit that joined was signed no later than its arrival.
        if signed_at <= ticket_arrival then count('confirmed', 1) end
      end
      if forgotten or (to_places and (active < quota or recovering)) then
        call('ZADD', PLACES, let_in_at, bearer)
        active, admitted_at = active + 1, let_in_at
      else
        call('ZADD', LINE, ticket_arrival, bearer)
        waiting = waiting + 1
        gone = gone - 1
        if mode == DRAINING then call('HDEL', STATE, 'drained') end
      end
    end
    if who == BY_TICKET then session, confirmed, arrival = bearer, true, ticket_arrival end
  end

  if who == NOBODY and flags % LET_IN == JOINS then
    rank, admitted_at = locate(newcomer, false)
    if rank or admitted_at then
      -- The same id joins only once.
      who, how, session = BY_JOINING, PRESENT, newcomer
      arrival = admitted_at or tonumber(call('ZSCORE', LINE, newcomer))
    elseif mode ~= CLOSED and mode ~= DRAINING and not ended_until(newcomer) then
      -- Rule 1: to the end of the line.
      who, how, session = BY_JOINING, JOINED, newcomer
      arrival = math.max(now, last_arrival() + 1)
      call('HSET', STATE, 'arrival', arrival)
      call('ZADD', LINE, arrival, newcomer)
      waiting = waiting + 1
      count('joined', 1)
    end
  end

  -- Rule 5: a visit pushes the expiry ahead, unless it is still far ahead or no ticket came back.
  -- In line the ticket is believed that says so.
  if how == PRESENT then
    local target, share, of = visited(admitted_at, true), LINE_SHARE, LINE_OF
    if admitted_at then share, of = PLACES_SHARE, PLACES_OF end
    local function is_far(instant)
      return instant <= target and math.max(instant - now, 0) * of >= math.max(target - now, 0) * share
    end
    if confirmed and not admitted_at and is_far(present_until) then
      expiry = present_until
    else
      local kept = tonumber(call('ZSCORE', POOL, session)) or 0
      expiry = math.ceil(kept)
      if confirmed then
        if not is_confirmed(kept) then
          call('ZADD', POOL, expiry, session)
          count('confirmed', 1)
        end
        if not is_far(expiry) then
          expiry = target
          call('ZADD', POOL, expiry, session)
        end
      end
    end
  elseif session then
    expiry = visited(admitted_at, confirmed)
    call('ZADD', POOL, as_confirmed(expiry, confirmed), session)
  end

  local _, seen, fate = advance(session, confirmed, how ~= PRESENT)
  if formed and waiting > 0 then
    if pace ~= '' then write_pace('') end
    start_pace()
  end

  if not session or fate == false then
    who, how, arrival, admitted_at, rank, expiry = NOBODY, ABSENT, 0, nil, 0, 0
  elseif fate then
    admitted_at, rank, expiry = now, 0, fate
  elseif admitted_at then
    rank = 0
  else
    -- Those who left did so from the head, before this session.
    rank = (how == PRESENT and rank - seen or call('ZRANK', LINE, session)) + 1
  end
  for _, value in ipairs({
    who, how, arrival, admitted_at or -1, rank, expiry, waiting, active, recovering and 1 or 0, pace,
  }) do reply[#reply + 1] = value end
end
return with_let_in(reply)
