-- Rules 1, 5 and 7 for one session: join, restore from a ticket, renew the presence.

-- The queue's numbers in the reply to a visit.
local function queue_numbers()
  return {
    rules.epoch, rules.revision, waiting, active, recovering and 1 or 0, restoring and 1 or 0, pace, reached,
    effective_mode(), attack_mode_until() >= 0 and 1 or 0,
  }
end

-- Rule 7: records the use of the state. If the clock stepped back, the state is re-anchored, so
-- that nothing waits for it. Returns the start and end of the longest recent gap without use, and the silence that was an
-- interruption by a visit which could not be served for `unserved` us; nil if there was none.
local function note_use(unserved)
  local gap_from, gap_until = string.match(continuity.gap, '(%d+) (%d+)')
  gap_from, gap_until = tonumber(gap_from) or 0, tonumber(gap_until) or 0
  local idle = now - used_at
  if idle < 0 then
    gap_from, gap_until, continuity.gap, continuity.silence, continuity.void = 0, 0, '', '', ''
    state_since, recovery_since = math.min(state_since, now), math.min(recovery_since, now)
    call('HSET', STATE, 'used_at', now, 'waited', 0, 'gap', '', 'silence', '', 'void', '', 'stepped_back', 1,
      'state_since', state_since, 'recovery_since', recovery_since)
    -- Attack mode lasts as long as it would have.
    if attack_until > 0 then
      attack_until = math.max(attack_until + idle, 0)
      call('HSET', STATE, 'attack_until', attack_until)
    end
    if rules.admissions_per_minute then buckets.read_line() end
    local empty_since = tonumber(call('HGET', STATE, 'empty_since'))
    if empty_since and empty_since > now then call('HSET', STATE, 'empty_since', now) end
    find_recovery()
  elseif idle >= CLOCK_GRAIN then
    local expired = now >= gap_until + rules.active_ttl * SECOND
    if idle >= GAP_MIN and (expired or idle > gap_until - gap_from) then
      gap_from, gap_until = used_at, now
      continuity.gap = string.format('%d %d', gap_from, gap_until)
    end
    local open = continuity.open_silence()
    continuity.silence = open and string.format('%d %d %d %s', unpack(open)) or ''
    call('HSET', STATE, 'used_at', now, 'waited', waiting > 0 and 1 or 0, 'gap', continuity.gap, 'silence', continuity.silence)
  end
  used_at = now
  -- Silence proves nothing; that visitors could not be served does.
  local tells = unserved * 2 >= rules.waiting_ttl * SECOND
  return gap_from, gap_until, tells and continuity.open_silence() or nil
end

-- Adopts a later census from the time that the state does not know, which determines how many sessions are to return. Returns
-- whether it did: slots may be free now.
local function learn(at, count_then, reached_then)
  local of_before = at >= 0 and at < math.min(recovery_since, continuity.lost_until) and recovery_since - at < rules.active_ttl * SECOND
  if of_before and at > known_at then
    known, known_at, known_reached = count_then, at, reached_then
    call('HSET', STATE, 'known', known, 'known_at', known_at, 'known_reached', known_reached)
    return true
  end
  return false
end

-- The time until which the ticket restores its session; 0 if it stays void.
local function good_until(ticket_admitted, signed_at, unconfirmed)
  if continuity.is_void(ticket_admitted, signed_at, unconfirmed) then return 0 end
  local ends = signed_at + (ticket_admitted >= 0 and rules.active_ttl or rules.hold_ttl) * SECOND
  if not unconfirmed then return ends end
  local claim = signed_at + rules.claim_ttl * SECOND
  -- A session that could still claim its position at the census has claim_ttl from the start of the
  -- recovery.
  if reserving and known_at > 0 and signed_at < recovery_since and claim > known_at then
    claim = math.max(claim, recovery_since + rules.claim_ttl * SECOND)
  end
  return math.min(ends, claim)
end

local function accepts_joins()
  local mode = effective_mode()
  return mode == 'open' or mode == 'paused' or mode == 'draw'
end

-- Rule 20: whether the visitor could join, or come to the lobby, with an invitation only.
local function needs_invitation(head_start)
  if rules.access ~= 'invited' or head_start >= 0 then return false end
  local mode = effective_mode()
  return mode == 'open' or mode == 'paused' or mode == 'draw' or mode == 'lobby'
end

-- Rule 23: since when newcomers without an invitation can join; now if they can't. Never after now, though the clock stepped back.
function limits.open_since()
  if not accepts_joins() or rules.access == 'invited' then return now end
  local opened_at = tonumber(call('HGET', STATE, 'opened_at')) or 0
  return math.min(math.max(opened_at, schedule and schedule.lobby_at or 0), now)
end

-- Rule 22: whether no newcomer can join because the line is full.
local function is_full()
  return rules.max_waiting and waiting >= rules.max_waiting and accepts_joins()
end

-- Rule 23: whether newcomers need a pre-ticket to join.
local function requires_pre_ticket()
  local from, mode = rules.protection.pre_ticket_from, effective_mode()
  if mode ~= 'open' and mode ~= 'paused' then return false end
  return limits.attack_mode() or from and (waiting > 0 or recovering or active * 100 >= from * rules.quota)
end

-- Whether nobody joins from the network of this visit, or comes to the lobby.
function limits.blocks()
  local reason, retry_after = limits.check_blocked(limits.read_client())
  limits.rejection = reason and { reason, retry_after }
  return reason ~= nil
end

-- Whether the newcomer of this visit, who may be invited, may join. Counts the join or the rejection.
function limits.admits(invited)
  if limits.blocks() then return false end
  -- The answer says that the line is full.
  if is_full() then
    count('rejected:full', 1)
    return false
  end
  local reason, retry_after = limits.check(limits.read_client(), invited)
  limits.rejection = reason and { reason, retry_after }
  return not reason
end

-- Rule 24: one session per account. Functions and state are fields of one table.
local accounts = {}

-- Reads what a visit says of accounts: the session of the account that a verified token named, and whether the session of the ticket
-- is that of an account, or that of an invitation.
function accounts.read(packed, index)
  accounts.own, accounts.of_ticket, accounts.of_invitation = nil, false, false
  if packed == '' then return end
  local flags, session = struct.unpack(ACCOUNTS.FORMAT, packed, index * ACCOUNTS.SIZE + 1)
  if flags % 2 == ACCOUNTS.VERIFIED then accounts.own = session end
  accounts.of_ticket = flags % ACCOUNTS.OF_INVITATION >= ACCOUNTS.OF_TICKET
  accounts.of_invitation = flags >= ACCOUNTS.OF_INVITATION
end

-- Whether a ticket that can be younger than the end of its session was issued before it: that of an account, or a drawn one. Other
-- tickets are void while there is a tombstone.
function accounts.is_void(bearer, issued_at, from_lobby)
  local ended_at = (accounts.of_ticket or from_lobby) and tombstones.at(bearer)
  return ended_at and issued_at <= ended_at
end

-- Whether a newcomer can't join, or come to the lobby, under this session: it has ended. An account can under its own, unless the end
-- is in the future, as that in the lobby of a draw is.
function accounts.bars(session)
  local ended_at = tombstones.at(session)
  return ended_at and (session ~= accounts.own or ended_at > now)
end

-- A session that is to join and is present: code, position from 0, time of admission, arrival. Nil if it is not.
local function find_joined(session, by)
  local position = call('ZRANK', LINE, session)
  local admitted_at = not position and tonumber(call('ZSCORE', ACTIVE, session)) or nil
  if position or admitted_at then
    return RENEWED + by, position, admitted_at, admitted_at or tonumber(call('ZSCORE', LINE, session))
  end
end

-- The visitor as the account who signed in: the session of the account takes over the position or slot of the one that was found,
-- which ends. If it is present itself, it keeps its own. Returns session, code, position from 0, time of
-- admission, arrival, and whether the account kept its own.
function accounts.hand_over(session, code, position, admitted_at, arrival)
  local own = accounts.own
  -- An account that may not join now leaves the visitor who they are.
  if not own or own == session or accounts.bars(own) then return session, code, position, admitted_at, arrival end
  local held_code, held_position, held_admitted, held_arrival = find_joined(own, ACCOUNTS.BY_ACCOUNT)
  if held_code then
    -- Its slot is held for a last credential; the visitor stays who they are until then.
    if held_admitted and tombstones.covers(own, held_admitted) then return session, code, position, admitted_at, arrival end
    if tombstones.end_session(session, 'left') == REMOVED_ABSENT then count('left', 1) end
    held_position = not held_admitted and call('ZRANK', LINE, own) or nil
    return own, held_code, held_position, held_admitted, held_arrival, true
  end
  -- A slot that was assigned before an earlier session of the account ended is not that of the earlier session.
  if admitted_at and tombstones.covers(own, admitted_at) then call('ZREM', ENDED, own) end
  local key = admitted_at and ACTIVE or LINE
  local score, expiry = call('ZSCORE', key, session), call('ZSCORE', POOL, session)
  call('ZREM', key, session)
  call('ZADD', key, score, own)
  if expiry then
    call('ZREM', POOL, session)
    call('ZADD', POOL, expiry, own)
  end
  tombstones.add(session, admitted_at)
  return own, code % BY_JOINING + ACCOUNTS.BY_ACCOUNT, position and call('ZRANK', LINE, own), admitted_at, arrival
end

-- The session of a ticket that was found, as that of an account. An older ticket of the same account, from another device, moves a
-- waiting session ahead to its arrival if it would restore the session there. Returns session, code, position from 0, time of
-- admission, arrival, and of the session whether its ticket is unconfirmed and when its turn is due.
function accounts.serve(bearer, code, position, admitted_at, ticket_arrival, ticket_admitted, signed_at, unconfirmed, due)
  local arrival = ticket_arrival
  if accounts.of_ticket then
    if code == RENEWED and not admitted_at then
      if now < good_until(ticket_admitted, signed_at, unconfirmed) then call('ZADD', LINE, 'XX', 'LT', arrival, bearer) end
      position, arrival = call('ZRANK', LINE, bearer), tonumber(call('ZSCORE', LINE, bearer))
    end
    code = code + ACCOUNTS.BY_ACCOUNT
  end
  -- The session of an invitation stays that of its code.
  if accounts.of_invitation then return bearer, code, position, admitted_at, arrival, unconfirmed, due end
  local session, keeps
  session, code, position, admitted_at, arrival, keeps = accounts.hand_over(bearer, code, position, admitted_at, arrival)
  if keeps then unconfirmed, due = false, -1 end
  return session, code, position, admitted_at, arrival, unconfirmed, due
end

-- The highest arrival so far.
local function last_arrival()
  return tonumber(call('HGET', STATE, 'arrival')) or 0
end

-- Puts a newcomer in line. Returns code, position from 0, time of admission, arrival.
local function enter_line(session, arrival, by)
  call('ZADD', LINE, whole(arrival), session)
  waiting = waiting + 1
  count('joined', 1)
  return JOINED + by, nil, nil, arrival
end

-- Rules 1, 14, 19, 20, 22 and 23: joins at the end of the line unless that needs an invitation or a pre-ticket, the line is full
-- or a limit rejects it, an invited newcomer ahead of it; in the lobby a newcomer is counted, and nothing else. The same id joins
-- only once. Returns code, position from 0, time of admission, arrival.
local function join(newcomer, head_start)
  -- An account joins again under the same session after it has ended, once its slot is free.
  if accounts.bars(newcomer) then return NOT_JOINED end
  local code, position, admitted_at, arrival = find_joined(newcomer, BY_JOINING)
  local is_over = admitted_at and tombstones.covers(newcomer, admitted_at)
  if code and not is_over then return code, position, admitted_at, arrival end
  if is_over and effective_mode() ~= 'lobby' then return NOT_JOINED end
  if needs_invitation(head_start) then return NOT_JOINED end
  if effective_mode() == 'lobby' then
    if limits.blocks() then return NOT_JOINED end
    count(lobby_counter(), 1)
    return IN_LOBBY
  end
  if not accepts_joins() then return NOT_JOINED end
  -- An invitation names one session, however often it is presented.
  if head_start < 0 and requires_pre_ticket() then return NEEDS_PRE_TICKET end
  if not limits.admits(head_start >= 0) then return NOT_JOINED end
  arrival = math.max(now, last_arrival() + 1)
  if head_start <= 0 then
    call('HSET', STATE, 'arrival', whole(arrival))
    return enter_line(newcomer, arrival, BY_JOINING)
  end
  -- Invited visitors do not delay others who come now. They arrive behind everyone drawn in the current event.
  local _, drawn_until = drawn.between()
  return enter_line(newcomer, math.max(arrival - head_start, drawn_until or 0), BY_JOINING)
end

-- Rule 23: whether the first visit of a pre-ticket counts for the arrival: it was recent, its bearer is solving a challenge, or
-- Vestibule turned its bearer away.
local function first_visit_counts(first_visit, challenge_ends_at, same_network, preserved)
  local age, max_age = now - first_visit, rules.protection.pre_ticket_max_age
  if age < 0 then return false end
  return same_network and (age <= max_age * SECOND or now <= challenge_ends_at)
    or preserved and age <= rules.hold_ttl * SECOND
end

-- Why a visitor without a session did not join: a code, the given one if no other applies.
local function refusal(code, head_start)
  if needs_invitation(head_start) then return UNINVITED end
  if limits.rejection then return limits.rejection[1] == LIMITS.NEEDS_PROOF and LIMITS.NEEDS_PROOF or REJECTED end
  return is_full() and LINE_FULL or code
end

-- Rule 23: a session whose client kept its pre-ticket joins. `flags` are those of the visit; `counts` says whether the first visit may
-- count as the arrival. Returns code, position from 0, time of admission, arrival.
local function join_confirmed(session, by, first_visit, challenge_ends_at, flags, counts)
  local code, position, admitted_at, arrival = find_joined(session, by)
  local is_over = admitted_at and tombstones.covers(session, admitted_at)
  if code and not is_over then return code, position, admitted_at, arrival end
  if is_over and effective_mode() ~= 'lobby' then return NOT_JOINED end
  if needs_invitation(-1) then return NOT_JOINED end
  if not accepts_joins() then return join(session, -1) end
  if not limits.admits() then return NOT_JOINED end
  local last = last_arrival()
  arrival = math.max(now, last + 1)
  local same_network, preserved = flags % PRESERVED >= SAME_NETWORK, flags >= PRESERVED
  if counts and not limits.joined_late and first_visit_counts(first_visit, challenge_ends_at, same_network, preserved) then
    -- One from before newcomers could join counts from then on, and one in the lobby of a draw from the start on, behind everyone who is
    -- drawn.
    arrival = drawn.waits_since(math.max(first_visit, limits.open_since()), drawn.between())
  end
  count('confirmed', 1)
  count('pre_tickets_redeemed', 1)
  if arrival > last then call('HSET', STATE, 'arrival', arrival) end
  return enter_line(session, arrival, by)
end

-- Rules 23 and 24: the session of a pre-ticket of this epoch joins, or that of the account who redeems it: then the session of the
-- pre-ticket ends, so that its arrival counts for one account. Returns code, position from 0, time of admission, arrival, session.
local function redeem(source, first_visit, challenge_ends_at, flags)
  local own, ended_at = accounts.own, tombstones.at(source)
  if not own then
    if ended_at then return accepts_joins() and NEEDS_PRE_TICKET or NOT_JOINED end
    local code, position, admitted_at, arrival = join_confirmed(source, BY_REDEEMING, first_visit, challenge_ends_at, flags, true)
    return code, position, admitted_at, arrival, source
  end
  if own ~= source then
    local code, position, admitted_at, arrival = find_joined(source, BY_REDEEMING)
    if code and not (admitted_at and ended_at and admitted_at <= ended_at) then
      local session
      session, code, position, admitted_at, arrival = accounts.hand_over(source, code, position, admitted_at, arrival)
      return code, position, admitted_at, arrival, session
    end
  end
  if accounts.bars(own) then return NOT_JOINED end
  -- What it proves counts once: else one proof would do for many accounts.
  if ended_at then limits.work = nil end
  -- A first visit from before the account's own session ended is worth what that was: the account joins again at the end.
  local counts = not ended_at and first_visit > (tombstones.at(own) or -1)
  local code, position, admitted_at, arrival =
    join_confirmed(own, ACCOUNTS.BY_ACCOUNT, first_visit, challenge_ends_at, flags, counts)
  if own ~= source and not ended_at and code >= BY_REDEEMING then tombstones.add(source) end
  return code, position, admitted_at, arrival, own
end

-- Rule 18: finds a session that is present and neither expired nor ended. Returns position from 0, time of admission,
-- expiry.
local function find_present(bearer)
  local expiry = tonumber(call('ZSCORE', POOL, bearer))
  if not expiry or expiry <= now then return end
  local position = call('ZRANK', LINE, bearer)
  local admitted_at = not position and tonumber(call('ZSCORE', ACTIVE, bearer)) or nil
  if admitted_at and tombstones.covers(bearer, admitted_at) then return end
  return position, admitted_at, expiry
end

-- Rule 7: finds the session of a ticket of this epoch, or restores it. `position` and `admitted_at`
-- are its current state. Returns code, position from 0, time of admission.
local function find_or_restore(
  bearer, position, admitted_at, ticket_arrival, ticket_admitted, ticket_reached, signed_at, due, unconfirmed, from_lobby
)
  local is_good = now < good_until(ticket_admitted, signed_at, unconfirmed)
  -- Whether the bearer of a ticket that says "waiting" was admitted before the recovery without
  -- noticing: they were present at the census, and the order of admission passed their arrival since
  -- the ticket was signed. It had passed it before for those who joined ahead of others or missed
  -- their turn, so that shows nothing. Their slot is reserved, unless max_session has ended it since.
  local admitted_before_recovery = reserving and ticket_admitted < 0
    and ticket_reached >= 0 and ticket_reached < ticket_arrival and ticket_arrival <= known_reached
    and signed_at < known_at and known_at < signed_at + presence_ttl(signed_at, due) * SECOND
    and not exceeded_max_session(known_at)
  local was_waiting = position and admitted_before_recovery and active < rules.quota and is_good
  if was_waiting then
    call('ZREM', LINE, bearer)
    waiting = waiting - 1
  elseif position then
    return RENEWED, position
  elseif admitted_at then
    if tombstones.covers(bearer, admitted_at) then return NOT_JOINED end
    if not exceeded_max_session(admitted_at) then return RENEWED, nil, admitted_at end
    record_stay(admitted_at)
    call('ZREM', ACTIVE, bearer)
    call('ZREM', POOL, bearer)
    tombstones.add(bearer, admitted_at)
    count('ended', 1)
    active = active - 1
    return NOT_JOINED
  end
  -- While the server's clock is before the draw, the visitor is still in the lobby.
  if from_lobby and effective_mode() == 'lobby' then return IN_LOBBY end
  -- Restores to the line at the original arrival, or to a slot if the session was admitted
  -- recently.
  local was_admitted_at = ticket_admitted >= 0 and ticket_admitted or admitted_before_recovery and known_at
  if not is_good or (was_admitted_at and exceeded_max_session(was_admitted_at))
      or (not accounts.of_ticket and not from_lobby and tombstones.at(bearer)) then
    return NOT_JOINED
  end
  if was_admitted_at then settle(1) end
  if was_admitted_at and active < rules.quota then
    call('ZADD', ACTIVE, was_admitted_at, bearer)
    active, admitted_at = active + 1, was_admitted_at
  else
    call('ZADD', LINE, ticket_arrival, bearer)
    waiting = waiting + 1
    -- The session had left the line, unless it comes from the lobby or was lost.
    if not from_lobby and signed_at >= recovery_since then departures = departures - 1 end
    if rules.mode == 'draining' then call('HDEL', STATE, 'empty_since') end
  end
  if ticket_arrival > (tonumber(call('HGET', STATE, 'arrival')) or 0) then
    call('HSET', STATE, 'arrival', ticket_arrival)
  end
  -- A session that waited takes its reserved slot, and was counted before.
  if not was_waiting then count(from_lobby and 'joined' or 'returned', 1) end
  if unconfirmed or (from_lobby and not was_waiting) then count('confirmed', 1) end
  return RESTORED, nil, admitted_at
end

-- Rules 5 and 12: a visit with a ticket extends the expiry, unless most of the TTL is left. Returns
-- the expiry.
local function refresh(session, admitted_at, confirmed, unconfirmed, signed_at, due)
  local expiry = tonumber(call('ZSCORE', POOL, session))
  if not confirmed then return expiry end
  local share, of = LINE_SHARE, LINE_OF
  if admitted_at then share, of = ACTIVE_SHARE, ACTIVE_OF end
  local target = visited(admitted_at, true, due)
  -- The first returned ticket confirms the session.
  local first = unconfirmed and expiry <= signed_at + rules.claim_ttl * SECOND
  if first then count('confirmed', 1) end
  if first or expiry > target or math.max(expiry - now, 0) * of < math.max(target - now, 0) * share then
    expiry = target
    call('ZADD', POOL, whole(expiry), session)
  end
  return expiry
end
