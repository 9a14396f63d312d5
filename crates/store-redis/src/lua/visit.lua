-- Handles a batch of visits and keepalives in order. Each joins or returns, renews the presence,
-- admits sessions that can be admitted, and returns the session's state. A read-only visit only admits and reads.
--
-- KEYS[1..8] line, active, pool, ended, state, settings, joins, networks
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the visits, each packed as VISIT_FORMAT: the ticket's session, HAS_TICKET, UNCONFIRMED and JOINS or READ_ONLY, arrival us,
--            admitted at us (-1 while it waits), signed at us, when the turn is due by the wait
--            shown in us (-1 if none was), epoch, active sessions then (-1 if it does not say so) and the arrival reached by
--            then; under which session they join, and its head start in us (-1 without an invitation). FROM_LOBBY marks a ticket
--            from the lobby that was converted just now, with the time at which its bearer came there as when the turn is due.
--            REDEEMS marks a pre-ticket, with SAME_NETWORK and PRESERVED: its session, the first visit as the arrival, the end of the
--            challenge as when the turn is due, its epoch, the difficulty that is proven as the active sessions, and that which was required
--            last (-1 if none was) as the arrival reached
-- ARGV[3]    time in us for which the process could not serve the queue
-- ARGV[4..6] the census known to the process: its time in us, the active sessions, and the arrival reached by then (-1
--            each if there is none)
-- ARGV[7]    number of pre-tickets that the process has issued since its last call
-- ARGV[8]    the clients, each packed as CLIENT_FORMAT: HAS_ADDRESS and EXTRA_HOPS and the class of the network times CLASS_UNIT,
--            and the numbers of its address and of its network
-- ARGV[9]    what the visits say of accounts, each packed as ACCOUNTS.FORMAT: VERIFIED, then the session of the account, OF_TICKET if
--            the session of the ticket is that of an account, and OF_INVITATION if it is that of a code; empty if none says anything
--            of an account
-- ARGV[10..11] numbers of tokens of accounts that the process has accepted and rejected since its last call
-- ARGV[12..13] numbers of proofs of work that the process has accepted and not accepted since its last call
-- ARGV[14]   when the call was sent, in us by the server's clock; '' if the process does not know that clock
-- Returns    { DONE, now, quota, visit .. }: a visit is a code, then
--            - for a present session, its position, or 0 and when it was admitted, and its expiry
--            - with BY_JOINING, BY_REDEEMING or BY_ACCOUNT, its arrival
--            - with REJECTED, the reason and the seconds after which the client may try again
--            - with NEEDS_PROOF, the difficulty
--            - with CHANGED, epoch, revision, waiting, active, recovering, restoring, pace, the arrival reached, the effective mode and attack mode after
--              it: else they are those of the visit before. The first always has them
-- Cost       O(log n) each, and O(counters) for the first join of a window; at most REAP_BATCH sessions expire and ADVANCE_BATCH are
--            admitted on the way of each
-- Rules      1, 2, 4, 5, 6, 7, 9, 12, 13, 14, 15, 18, 19, 20, 22, 23, 24
local visits, size = ARGV[2], #ARGV[2] / VISIT_SIZE
local reply = { DONE, now, rules.quota }
if effective_mode(true) == 'bypass' then
  reply[#reply + 1] = CHANGED
  for _, value in ipairs(queue_numbers()) do reply[#reply + 1] = value end
  for _ = 2, size do reply[#reply + 1] = 0 end
  return reply
end

-- A call that lay in a connection could not be served meanwhile.
local sent_at = tonumber(ARGV[14]) or now
local gap_from, gap_until, interruption = note_use(math.max(tonumber(ARGV[3]), now - sent_at))
-- Whether all expired sessions are removed, whether this call may have moved the line, and whether
-- it could not move before.
local reaped, touched, still = false, false, stands_still()
-- The queue's numbers that were sent last in the reply.
local sent
for i = 0, size - 1 do
  local bearer, flags, ticket_arrival, ticket_admitted, signed_at, due, ticket_epoch, census, ticket_reached, newcomer,
    head_start = struct.unpack(VISIT_FORMAT, visits, i * VISIT_SIZE + 1)
  -- Rule 13: an event can be over as soon as a visit before this one has emptied the line.
  local passes = i > 0 and effective_mode(true) == 'bypass'
  local has_ticket, unconfirmed, joins, from_lobby, reads, redeems =
    not passes and flags % 2 == 1, flags % 4 >= UNCONFIRMED, not passes and flags % FROM_LOBBY >= JOINS,
    flags % READ_ONLY >= FROM_LOBBY, flags % REDEEMS >= READ_ONLY, not passes and flags % SAME_NETWORK >= REDEEMS

  -- A ticket of a higher epoch shows that provisional rules are older than the rules that were in
  -- force, or, signed in a gap, that the state went back to before a reset.
  local of_gap = not from_lobby and signed_at > gap_from + CLOCK_GRAIN and signed_at < gap_until
  if has_ticket and ticket_epoch > rules.epoch and now < signed_at + rules.hold_ttl * SECOND then
    local provisional = call('HGET', STATE, 'provisional') == '1'
    if provisional or of_gap then
      change_rules({ epoch = ticket_epoch, revision = rules.revision + 1 })
      begin_state(true, provisional)
      -- An operator's settings stay so.
      if not provisional then call('HSET', STATE, 'restored', 0) end
      gap_from, gap_until, interruption, reaped, touched, of_gap = 0, 0, nil, false, true, false
    end
  end
  local is_ours = has_ticket and ticket_epoch == rules.epoch

  -- Rule 7: a ticket that is older than the state, or was signed in a gap, proves that the state
  -- lost data. A ticket from the lobby was not signed by the server's clock, so it proves nothing.
  local lost = interruption
  if is_ours and not from_lobby then
    if signed_at < state_since and recovery_since < state_since then
      lost = { 0, state_since }
    elseif of_gap then
      lost = { gap_from, gap_until }
    end
  end
  if lost then
    begin_recovery(unpack(lost))
    gap_from, gap_until, interruption = 0, 0, nil
  end
  if reserving then
    -- Unconfirmed tickets may have been collected by an attacker, so they are not used as evidence.
    if is_ours and census >= 0 and not unconfirmed and learn(signed_at, census, ticket_reached) then touched = true end
    if learn(tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])) then touched = true end
  end

  if not reaped and not passes then
    if touched or #expired_in(POOL, '1') > 0 then
      reaped, touched = reap(REAP_BATCH) < REAP_BATCH, true
    else
      reaped = true
    end
  end

  limits.advance_events()
  limits.begin_visit(ARGV[8], i)
  accounts.read(ARGV[9], i)
  if is_ours and accounts.is_void(bearer, from_lobby and due or signed_at, from_lobby) then is_ours = false end
  -- No wait was shown in the lobby.
  if from_lobby then due = -1 end
  local formed = waiting == 0
  local code, session, confirmed, arrival, position, admitted_at = NOT_JOINED, nil, false, nil, nil, nil
  if is_ours and not reads then
    -- At most two lookups for a present session: the set named by the ticket comes first.
    if ticket_admitted >= 0 then
      admitted_at = tonumber(call('ZSCORE', ACTIVE, bearer))
      position = not admitted_at and call('ZRANK', LINE, bearer)
    else
      position = call('ZRANK', LINE, bearer)
      admitted_at = not position and tonumber(call('ZSCORE', ACTIVE, bearer))
    end
    if position and not reserving then
      code = RENEWED
    else
      touched = true
      code, position, admitted_at = find_or_restore(
        bearer, position, admitted_at, ticket_arrival, ticket_admitted, ticket_reached, signed_at, due,
        unconfirmed, from_lobby
      )
    end
    if code ~= NOT_JOINED and code ~= IN_LOBBY then
      confirmed = true
      session, code, position, admitted_at, arrival, unconfirmed, due = accounts.serve(
        bearer, code, position, admitted_at, ticket_arrival, ticket_admitted, signed_at, unconfirmed, due
      )
      touched = touched or session ~= bearer
    end
  end
  if redeems and ticket_epoch == rules.epoch then
    touched = true
    limits.read_work(ticket_arrival, census, ticket_reached)
    local redeemer
    code, position, admitted_at, arrival, redeemer = redeem(bearer, ticket_arrival, due, flags)
    -- No wait was shown yet.
    due = -1
    if code >= BY_REDEEMING then session, confirmed = redeemer, true end
  elseif not session and joins and code ~= IN_LOBBY then
    touched = true
    code, position, admitted_at, arrival = join(newcomer, head_start)
    if code >= BY_JOINING then session = newcomer end
  end

  if not session and code ~= IN_LOBBY then code = refusal(code, head_start) end

  -- Rules 5 and 12: a visit with a ticket extends the expiry, unless most of the TTL is left.
  local expiry
  local present = code % BY_JOINING == RENEWED
  if session and present then
    expiry = refresh(session, admitted_at, confirmed, unconfirmed, signed_at, due)
  elseif session then
    -- A newcomer was shown no wait, whatever a void ticket says.
    expiry = visited(admitted_at, confirmed, confirmed and due or -1)
    call('ZADD', POOL, string.format('%d', expiry), session)
  end
  -- max_session may have ended it before now; the next visit of the batch removes it.
  if expiry and expiry <= now then reaped = false end

  if touched or not still then
    touched = true
    local _, seen, own_expiry = advance(session, confirmed, not present)
    if formed and waiting > 0 then
      if pace ~= '' then write_pace('') end
      start_pace()
    end
    if own_expiry == false then
      code, session = NOT_JOINED, nil
    elseif own_expiry then
      admitted_at, position, expiry = now, nil, own_expiry
    elseif position and session then
      -- Sessions left the line at the head, before this session.
      position = position - seen
    end
  end

  -- Rule 18: reads after all that may have moved the session.
  if is_ours and reads then
    position, admitted_at, expiry = find_present(bearer)
    if expiry then code, session = RENEWED, bearer end
  end

  -- Only movements of the line and a recovery change the queue's numbers.
  local changed = not sent
  if changed or touched or recovering then
    local numbers = queue_numbers()
    for j = 1, #numbers do changed = changed or numbers[j] ~= sent[j] end
    sent = numbers
  end
  reply[#reply + 1] = changed and code + CHANGED or code
  if session then
    if admitted_at then
      reply[#reply + 1], reply[#reply + 2] = 0, admitted_at
    else
      reply[#reply + 1] = (position or call('ZRANK', LINE, session)) + 1
    end
    reply[#reply + 1] = expiry
    if code >= BY_JOINING then reply[#reply + 1] = arrival end
  elseif code == REJECTED then
    reply[#reply + 1], reply[#reply + 2] = limits.rejection[1], limits.rejection[2]
  elseif code == LIMITS.NEEDS_PROOF then
    reply[#reply + 1] = limits.rejection[2]
  end
  if changed then
    for _, number in ipairs(sent) do reply[#reply + 1] = number end
  end
end
count('pre_tickets_issued', tonumber(ARGV[7]))
count('identities:accepted', tonumber(ARGV[10]))
count('identities:rejected', tonumber(ARGV[11]))
count('proofs:valid', tonumber(ARGV[12]))
count('proofs:invalid', tonumber(ARGV[13]))
limits.save()
return reply
