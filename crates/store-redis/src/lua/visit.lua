-- A visit or a keepalive: joins or returns, keeps the presence up, advances, and says where the visitor stands.
--
-- KEYS[1..6] line, places, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the ticket, packed as TICKET_FORMAT: session, epoch, arrival us, admitted at us or -1, signed at us; '' for none
-- ARGV[3]    the session under which the bearer joins if the ticket holds no place; '' joins nobody
-- Returns    { DONE, now, rules, who, presentation, arrival, admitted at or -1, rank, expiry, waiting, active, recovering, pace }
--            where `who` is BY_TICKET or BY_JOINING, or NOBODY: then the five after it mean nothing
-- Cost       O(log n); at most REAP_BATCH sessions lapse and ADVANCE_BATCH are let in on the way
-- Rules      1, 2, 4, 5, 6, 7, 9
if reap(REAP_BATCH) > 0 then measure() end
local formed = waiting == 0
local who, how, session, confirmed = NOBODY, ABSENT, nil, false
local arrival, rank, admitted_at, expiry

if ARGV[2] ~= '' then
  local bearer, ticket_epoch, ticket_arrival, ticket_admitted, signed_at = struct.unpack(TICKET_FORMAT, ARGV[2])
  if ticket_epoch == epoch then
    -- A ticket that is older than the state shows that the state was lost.
    if not lost and signed_at < began and now < taking_back_until then
      lost, recovering = true, true
      call('HSET', STATE, 'lost', 1)
    end
    local to_places = ticket_admitted >= 0
    rank, admitted_at = locate(bearer, to_places)
    if admitted_at and outlived(admitted_at) then
      call('ZREM', PLACES, bearer)
      call('ZREM', POOL, bearer)
      bury(bearer)
      count('ended', 1)
      active, admitted_at = active - 1, nil
    elseif rank or admitted_at then
      who, how = BY_TICKET, PRESENT
    elseif math.max(now - signed_at, 0) < (to_places and active_ttl or hold_ttl) * SECOND
      and not (to_places and outlived(ticket_admitted)) and not ended_until(bearer) then
      -- Rule 7: back to the line at the original arrival, or back to places for who was let in a short while ago.
      who, how = BY_TICKET, RETURNED
      if to_places and (active < quota or recovering) then
        call('ZADD', PLACES, ticket_admitted, bearer)
        active, admitted_at = active + 1, ticket_admitted
      else
        call('ZADD', LINE, ticket_arrival, bearer)
        waiting = waiting + 1
        gone = gone - 1
        if mode == DRAINING then call('HDEL', STATE, 'drained') end
      end
      if ticket_arrival > last_arrival() then call('HSET', STATE, 'arrival', ticket_arrival) end
      count('returned', 1)
      -- The ticket of the visit that joined was signed no later than its arrival.
      if signed_at <= ticket_arrival then count('confirmed', 1) end
    end
    if who == BY_TICKET then session, confirmed, arrival = bearer, true, ticket_arrival end
  end
end

local newcomer = ARGV[3]
if who == NOBODY and newcomer ~= '' then
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
if how == PRESENT then
  local kept = tonumber(call('ZSCORE', POOL, session)) or 0
  expiry = math.ceil(kept)
  if confirmed then
    if not is_confirmed(kept) then
      call('ZADD', POOL, expiry, session)
      count('confirmed', 1)
    end
    local target = visited(admitted_at, true)
    local share, of = LINE_SHARE, LINE_OF
    if admitted_at then share, of = PLACES_SHARE, PLACES_OF end
    if expiry > target or math.max(expiry - now, 0) * of < math.max(target - now, 0) * share then
      expiry = target
      call('ZADD', POOL, expiry, session)
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
  arrival = tonumber(call('ZSCORE', LINE, session))
end
return {
  DONE, now, packed, who, how, arrival, admitted_at or -1, rank, expiry,
  waiting, active, recovering and 1 or 0, pace,
}
