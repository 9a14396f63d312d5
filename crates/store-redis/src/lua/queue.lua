-- Shared by the operations of a queue: the state of the call, the clock, recovery, and the rules of
-- the line.
--
-- The server runs one function at a time, so the state of the call is held in variables of the library. begin_call sets all of
-- them. Functions are created once, when the library is loaded. Limits and codes are prepended by Rust.
--
-- KEYS[1..8] of every operation: line, active, pool, ended, state, settings, joins, networks.
-- ARGV[1] is the time in microseconds since 1970 if a test sets the clock, otherwise '' for the server's time.

local LINE, ACTIVE, POOL, ENDED, STATE, SETTINGS, JOIN_COUNTERS, NETWORKS
-- Limits of joins; see limits.lua.
local limits = {}
-- Whether the operation may write, and whether it creates queues.
local WRITES, CREATES
-- The current rules as a table of fields, and as stored in the settings. The table is never
-- modified.
local rules, rules_text
-- Rule 13: the event that is current unless it is over; nil if the queue does not follow its events. The table is never modified.
local schedule
local now
local waiting, active
local state_since, used_at, waited, pace
-- Rule 7: what the state records about its own past, as texts: the longest recent gap without use, and the last silence that a visit has
-- ended. Also the end of the time that the state does not know since the recovery, the TTLs at the start of the recovery as text, until
-- when visitors whose positions are held may return, and which tickets stay void though a TTL was raised, as text. Functions are
-- fields of the same table, since a chunk has at most 200 local variables.
local continuity = {}
-- The latest arrival that was admitted in order, as text.
local reached
-- Start of the recovery, number of active sessions before it, when they were counted, the arrival
-- reached by then, and how many of them are accounted for.
local recovery_since, known, known_at, known_reached, settled
-- Whether newcomers are not admitted, and whether slots are reserved.
local recovering, reserving
-- Rule 12: whether visitors far from the front may not have returned since the recovery began.
local restoring
-- When attack mode ends; 0 if it was never on.
local attack_until
-- Departures of confirmed sessions from the line in this operation, other than by admission, minus
-- returns. See vestibule_core::line::Pace.
local departures
-- Stays that ended in this operation: the number and milliseconds of those shorter than active_ttl,
-- and the number of others.
local short_stays, short_ms, long_stays

-- Cache of the rules and the schedule decoded last: they rarely differ between calls.
local decoded_text, decoded
local decoded_schedule_text, decoded_schedule

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

-- The index of the last event whose lobby has opened, or else of the first one. `events` are sorted.
local function last_opened(events)
  local i = #events
  while i > 1 and now < events[i].lobby_at do i = i - 1 end
  return i
end

-- Rule 13.3: follows the last event whose lobby has opened, or else the first one.
local function follow(events, between_events)
  local i = last_opened(events)
  local event, following = events[i] or {}, events[i + 1] or {}
  schedule = {
    between_events = between_events, since = i > 1 and event.lobby_at or 0, lobby_at = event.lobby_at, starts_at = event.starts_at,
    draw_ends_at = event.draw_ends_at, ends_at = event.ends_at, next_lobby_at = following.lobby_at,
  }
  if WRITES then call('HSET', SETTINGS, 'schedule', cmsgpack.pack(schedule)) end
end

-- Chooses another event if that is due, or was chosen by a clock that has stepped back since.
local function read_schedule(text)
  if not text then return end
  if text ~= decoded_schedule_text then
    decoded_schedule_text, decoded_schedule = text, cmsgpack.unpack(text)
  end
  schedule = decoded_schedule
  if now < schedule.since or (schedule.next_lobby_at and now >= schedule.next_lobby_at) then
    local events = call('HGET', SETTINGS, 'events')
    follow(events and cmsgpack.unpack(events) or {}, schedule.between_events)
  end
end

-- Rule 7: whether there was no visit for so long that there may be an interruption, of which the next visit tells: waiting visitors
-- poll three times per waiting_ttl.
function continuity.is_silent()
  return (now - used_at) * 2 >= rules.waiting_ttl * SECOND
end

-- Rule 7: the silence of which a visit may still tell that it was an interruption: the current one, or the last one for waiting_ttl
-- after another process ended it with a visit that did not tell. Its start and end, the active sessions in it, and the arrival reached
-- as text; nil if there is none.
function continuity.open_silence()
  if waited and continuity.is_silent() then return { used_at, now, active, reached } end
  local from, till, active_then, reached_then = string.match(continuity.silence, '(%d+) (%d+) (%d+) (%d+)')
  if from and now < tonumber(till) + rules.waiting_ttl * SECOND then
    return { tonumber(from), tonumber(till), tonumber(active_then), reached_then }
  end
end

-- Rule 13.2: the phase of a queue that follows its events. With `may_tell`, it is that for a visit which may tell that the line became
-- empty only because nobody could be served.
local function phase(may_tell)
  if not schedule.lobby_at or now < schedule.lobby_at then return 'idle' end
  if now < schedule.starts_at then return 'lobby' end
  if schedule.draw_ends_at and now < schedule.draw_ends_at then return 'draw' end
  if now < schedule.ends_at then return 'running' end
  -- After a loss of the state, visitors who waited may not have returned yet, unless the event ended long ago.
  local incomplete = now < continuity.returns_until or may_tell and continuity.open_silence()
  local may_wait = waiting > 0 or (incomplete and now < schedule.ends_at + ENDING_MAX * SECOND)
  if not may_wait and now >= schedule.ends_at + rules.hold_ttl * SECOND then return 'idle' end
  return 'ending'
end

-- Rule 13: the mode that the line follows now. A scheduled queue that has lost its schedule is closed.
local function effective_mode(may_tell)
  if not schedule then return rules.mode == 'scheduled' and 'closed' or rules.mode end
  local current = phase(may_tell)
  if current == 'idle' then return schedule.between_events end
  if current == 'lobby' then return schedule.draw_ends_at and 'lobby' or 'paused' end
  if current == 'draw' then return 'draw' end
  if current == 'running' then return 'open' end
  return schedule.between_events == 'closed' and 'draining' or 'open'
end

-- Rule 14: the field of the state that counts the lobby tickets of the current event.
local function lobby_counter()
  return string.format('lobby:%.0f', schedule.lobby_at)
end

-- Rule 15: the draw of the last event. Functions are fields of a table, since a chunk has at most 200 local variables.
local drawn = {}

-- The last event whose lobby has opened, or else the first one, whatever the mode; nil without events. O(1).
function drawn.event()
  if schedule then return schedule.lobby_at and schedule end
  local packed = call('HGET', SETTINGS, 'events')
  local events = packed and cmsgpack.unpack(packed) or {}
  return events[last_opened(events)]
end

-- When the lobby of the last event opened and when it ended, if the event has started with a draw. Drawn arrivals lie between,
-- whatever mode the queue has since.
function drawn.between()
  local event = drawn.event()
  if event and event.draw_ends_at and now >= event.starts_at then return event.lobby_at, event.starts_at end
end

-- When the wait of a session with this arrival began, given drawn.between. A drawn arrival is an order and not a time;
-- those visitors wait from the start of the sale on.
function drawn.waits_since(arrival, lobby_at, starts_at)
  return starts_at and arrival >= lobby_at and arrival < starts_at and starts_at or arrival
end

-- Changes these fields of the rules, one of which is the revision.
local function change_rules(changes)
  local changed = {}
  for field, value in pairs(rules) do changed[field] = value end
  for field, value in pairs(changes) do changed[field] = value end
  write_rules(changed)
end

-- A TTL that is raised after the start of a recovery does not prolong it.
local function find_recovery()
  if recovery_since == 0 then return end
  local waiting_ttl, active_ttl, hold_ttl = string.match(continuity.ttls, '(%d+) (%d+) (%d+)')
  waiting_ttl = math.min(rules.waiting_ttl, tonumber(waiting_ttl) or 0)
  hold_ttl = math.min(rules.hold_ttl, tonumber(hold_ttl) or 0)
  recovering = now < recovery_since + waiting_ttl * SECOND
  reserving = now < recovery_since + math.min(rules.active_ttl, tonumber(active_ttl) or 0) * SECOND
  -- Half of the longest presence TTL.
  restoring = now < recovery_since + math.max(waiting_ttl, math.floor(hold_ttl / 4)) * SECOND
  continuity.returns_until = recovery_since + hold_ttl * SECOND
end

-- Tickets that were no longer good by the rules before stay void after a TTL was raised: their latest times of signing, for waiting,
-- active and unconfirmed sessions.
function continuity.void_tickets(before)
  local waiting_until, active_until, unconfirmed_until = string.match(continuity.void, '(%d+) (%d+) (%d+)')
  local function latest(signed_at, ttl)
    signed_at = tonumber(signed_at) or 0
    return rules[ttl] > before[ttl] and math.max(signed_at, now - before[ttl] * SECOND) or signed_at
  end
  continuity.void = string.format('%d %d %d', latest(waiting_until, 'hold_ttl'), latest(active_until, 'active_ttl'),
    latest(unconfirmed_until, 'claim_ttl'))
  call('HSET', STATE, 'void', continuity.void)
end

-- Whether the ticket is one of them.
function continuity.is_void(ticket_admitted, signed_at, unconfirmed)
  local waiting_until, active_until, unconfirmed_until = string.match(continuity.void, '(%d+) (%d+) (%d+)')
  if not waiting_until then return false end
  return signed_at <= tonumber(ticket_admitted >= 0 and active_until or waiting_until)
    or unconfirmed and signed_at <= tonumber(unconfirmed_until)
end

-- Rule 7: starts recovery now. The state does not know the time from `lost_from` to `till`. Before it, there were this many active
-- sessions, which are accounted for, and the arrival reached was this text: the current ones by default.
local function begin_recovery(lost_from, till, active_then, reached_then)
  reached_then = reached_then or reached
  recovery_since, known, known_at, known_reached = now, active_then or active, lost_from, tonumber(reached_then)
  settled, continuity.lost_until, continuity.gap, continuity.silence = known, till, '', ''
  continuity.ttls = string.format('%d %d %d', rules.waiting_ttl, rules.active_ttl, rules.hold_ttl)
  find_recovery()
  if WRITES then
    call('HSET', STATE, 'recovery_since', now, 'known', known, 'known_at', known_at, 'known_reached', reached_then,
      'settled', settled, 'lost_until', till, 'gap', '', 'silence', '', 'recovery_ttls', continuity.ttls)
  end
end

-- An empty line whose state begins now. `lost` means that an earlier state was lost, so it starts
-- in recovery. O(1): the old data is freed in the background.
local function begin_state(lost, provisional)
  call('UNLINK', LINE, ACTIVE, POOL, ENDED, STATE, JOIN_COUNTERS, NETWORKS)
  waiting, active, state_since, used_at, waited, pace = 0, 0, now, now, false, ''
  continuity.gap, continuity.silence, continuity.lost_until, continuity.void, continuity.returns_until = '', '', 0, '', 0
  call('HSET', STATE, 'state_since', now, 'used_at', now, 'provisional', provisional and 1 or 0, 'restored', lost and 1 or 0)
  recovery_since, recovering, reserving, restoring, reached = 0, false, false, false, '0'
  known, known_at, known_reached, settled, attack_until = 0, 0, 0, 0, 0
  limits.events_window, limits.record, limits.changed = 0, nil, false
  if lost then begin_recovery(0, now) end
end

-- Reads the clock, the current rules and the state needed by every operation. `rules` is nil if the
-- queue does not exist. If the state of a queue is missing or inconsistent, it was lost: recovery
-- starts (rule 7). Costs 6 or 7 commands of O(1).
local function begin_call(keys, args, writes, creates)
  begin_clock(args)
  now = clock
  LINE, ACTIVE, POOL, ENDED, STATE, SETTINGS, JOIN_COUNTERS, NETWORKS = unpack(keys)
  WRITES, CREATES = writes, creates
  departures, short_stays, short_ms, long_stays = 0, 0, 0, 0
  recovering, reserving, restoring = false, false, false
  recovery_since, known, known_at, known_reached, settled, attack_until = 0, 0, 0, 0, 0, 0
  pace, reached, waited, used_at, waiting, active = '', '0', false, now, 0, 0
  continuity.gap, continuity.silence, continuity.lost_until, continuity.void, continuity.returns_until = '', '', 0, '', 0
  rules, schedule = nil, nil
  limits.record, limits.changed = nil, false
  local stored = call('HMGET', SETTINGS, 'rules', 'schedule')
  if not stored[1] then return end
  read_rules(stored[1])
  read_schedule(stored[2])
  waiting, active = call('ZCARD', LINE), call('ZCARD', ACTIVE)
  local state = call('HMGET', STATE, 'state_since', 'recovery_since', 'used_at', 'waited', 'gap', 'pace', 'reached', 'attack_until',
    'events_window', 'silence', 'recovery_ttls', 'void')
  state_since, recovery_since = tonumber(state[1]), tonumber(state[2]) or 0
  used_at, waited, continuity.gap, pace = tonumber(state[3]) or now, state[4] == '1', state[5] or '', state[6] or ''
  reached, attack_until = state[7] or '0', tonumber(state[8]) or 0
  limits.events_window, continuity.silence = tonumber(state[9]) or 0, state[10] or ''
  continuity.ttls, continuity.void = state[11] or '', state[12] or ''
  if not state_since then
    state_since, used_at, pace = now, now, ''
    if WRITES then call('HSET', STATE, 'state_since', now, 'used_at', now, 'provisional', 1) end
    begin_recovery(0, now)
  elseif recovery_since > 0 then
    find_recovery()
    -- Other rules may extend the reservation, up to its length at the start.
    if reserving or CREATES then
      local counts = call('HMGET', STATE, 'known', 'known_at', 'known_reached', 'settled', 'lost_until')
      known, known_at = tonumber(counts[1]) or 0, tonumber(counts[2]) or 0
      known_reached, settled = tonumber(counts[3]) or 0, tonumber(counts[4]) or 0
      continuity.lost_until = tonumber(counts[5]) or 0
    end
  end
  if WRITES and call('ZCARD', POOL) ~= waiting + active then
    -- A key was lost. Which of the remaining data is valid is unknown, so the tickets restore all
    -- of it.
    local counted_at = active > 0 and now or 0
    begin_recovery(counted_at, now)
    call('UNLINK', LINE, ACTIVE, POOL)
    waiting, active, settled = 0, 0, 0
    call('HSET', STATE, 'settled', 0)
  end
end

-- When attack mode ends; -1 if it is off.
local function attack_mode_until()
  return now < attack_until and attack_until or -1
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
function buckets.read_line()
  local credit, at = buckets.read(call('HGET', STATE, 'rate_bucket'))
  if WRITES and at > now then
    at = now
    call('HSET', STATE, 'rate_bucket', buckets.text(credit, now))
  end
  return credit, at
end

-- Rules 4 and 21: the content of the bucket now, and the time until which its units were earned.
function buckets.credit_now()
  local credit, at = buckets.read_line()
  return buckets.refill(credit, at, rules.admissions_per_minute, rules.admissions_every, now)
end

function buckets.save_credit(credit, at)
  call('HSET', STATE, 'rate_bucket', buckets.text(credit, at))
end

local function admits()
  local mode = effective_mode()
  return mode == 'open' or mode == 'draining'
end

-- Whether nothing can move the line now: no session can be admitted, and pace counting does not
-- start.
local function stands_still()
  if waiting == 0 or recovering or not admits() then return true end
  local free = free_slots()
  local limited = free <= 0 or rules.admissions_per_minute
  if pace == '' and limited then return false end
  return free <= 0 or (rules.admissions_per_minute and (buckets.credit_now()) < ADMISSION_COST)
end

-- Counts events in the state. The server adds 64-bit integers.
local function count(event, times)
  if times > 0 then call('HINCRBY', STATE, event, whole(times)) end
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

local function record_stay(admitted_at)
  local stay = math.max(now - admitted_at, 0)
  if stay < rules.active_ttl * SECOND then
    short_stays, short_ms = short_stays + 1, short_ms + math.floor(stay / 1000)
  else
    long_stays = long_stays + 1
  end
end

-- Rule 8: tombstones say when sessions ended, and are kept as long as any of their tickets could be valid. Functions are fields of one
-- table, since a chunk has at most 200 local variables.
local tombstones = {}

-- For how long a tombstone is kept, in us.
function tombstones.ttl()
  return math.max(rules.hold_ttl, rules.active_ttl) * SECOND
end

-- One that is there is never shortened: a visitor who leaves does not undo the end by an operator.
function tombstones.add_at(session, ended_at)
  call('ZADD', ENDED, 'GT', ended_at, session)
end

-- The end of an active session is never before its admission, though the clock stepped back.
function tombstones.add(session, admitted_at)
  tombstones.add_at(session, math.max(now, admitted_at or 0))
end

-- When the session ended; nil if there is no tombstone in force.
function tombstones.at(session)
  local ended_at = tonumber(call('ZSCORE', ENDED, session))
  if ended_at and ended_at + tombstones.ttl() > now then return ended_at end
end

-- The end of the draw phase of the last event whose lobby has opened, whatever the mode: its lobby tickets restore sessions from an
-- instant before then on. 0 without a draw.
function tombstones.draw_phase_ends_at()
  local event = drawn.event()
  return event and now >= event.lobby_at and event.draw_ends_at or 0
end

-- Whether an active session has ended and holds its slot until the last credential issued for it expires. The session of an account
-- can have been admitted again after it ended.
function tombstones.covers(session, admitted_at)
  local ended_at = tombstones.at(session)
  return ended_at and admitted_at <= ended_at
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

-- Rule 12: the longest time in seconds for which a visit keeps a waiting session present.
local function longest_presence_ttl()
  return math.max(rules.waiting_ttl, math.floor(rules.hold_ttl / 2))
end

-- Rule 12: seconds for which a visit at `at` with a ticket keeps a waiting session present. `due` is
-- when the visitor expects the turn, by the wait that the ticket says was shown; -1 if none was.
local function presence_ttl(at, due)
  local quarter = math.floor((due - at) / (PRESENCE_SHARE * SECOND))
  return math.min(math.max(quarter, rules.waiting_ttl), longest_presence_ttl())
end

-- Rule 5: the expiry of a session that is visited now.
local function expiry_of(admitted_at, ttl)
  local expiry = now + ttl * SECOND
  if admitted_at and rules.max_session then expiry = math.min(expiry, admitted_at + rules.max_session * SECOND) end
  return expiry
end

-- Rules 5 and 12: the same by a visit; `due` is needed for a waiting session only.
local function visited(admitted_at, confirmed, due)
  local ttl = admitted_at and rules.active_ttl or presence_ttl(now, due)
  return expiry_of(admitted_at, confirmed and ttl or math.min(ttl, rules.claim_ttl))
end

-- Expired members of `key`, earliest expiry first. O(log n + limit).
local function expired_in(key, limit)
  return call('ZRANGE', key, '0', clock_text, 'BYSCORE', 'LIMIT', '0', limit)
end

-- Rule 6: removes up to `limit` expired sessions; returns how many. O(limit * log n).
local function reap(limit)
  local found = call('ZRANGE', POOL, '0', clock_text, 'BYSCORE', 'LIMIT', '0', limit, 'WITHSCORES')
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
      if tombstones.covers(session, admitted_at) then
        -- The session was ended before; its slot was held until its last credential expired.
      elseif exceeded_max_session(admitted_at) then
        tombstones.add(session, admitted_at)
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

-- Up to `limit` sessions whose tombstones have expired. O(log n + limit).
function tombstones.expired(limit)
  return call('ZRANGE', ENDED, '-inf', now - tombstones.ttl(), 'BYSCORE', 'LIMIT', '0', limit)
end

-- Removes up to `limit` tombstones that have expired; returns how many. O(limit * log n).
function tombstones.clear(limit)
  local due = tombstones.expired(limit)
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

-- Applies a change of the rules to the pace of before. It continues unless another limit applies: while all slots are taken,
-- before and after, the line waits for sessions to end, and a rate is no limit. `mode_before` was the effective mode.
local function change_pace(mode_before, was_full, before, pace_before)
  local quota_before, is_full = before.quota, free_slots() <= 0
  local filling = not is_full and not rules.admissions_per_minute
  local other_rate = rules.admissions_per_minute ~= before.admissions_per_minute
    or (rules.admissions_per_minute and rules.admissions_every ~= before.admissions_every)
  local other_limit = other_rate and not (was_full and is_full)
  local other = effective_mode() ~= mode_before or other_limit or quota_before == 0
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
  local lobby_at, starts_at = drawn.between()
  for _, arrival in ipairs(arrivals) do
    local wait = math.max(now - drawn.waits_since(tonumber(arrival), lobby_at, starts_at), 0)
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
  -- Rule 7: without visits for so long, visitors may not have been served, and those ahead may have expired only because of
  -- that. The next visit tells.
  if not admits() or most <= 0 or waiting == 0 or recovering or continuity.is_silent() then return 0, 0, nil end
  local credit, earned_until
  if rules.admissions_per_minute then
    credit, earned_until = buckets.credit_now()
    most = math.min(most, math.floor(credit / ADMISSION_COST))
  end
  local admitted, seen, own_expiry = admit_from_head(most, ADVANCE_BATCH, own, confirmed)
  if admitted > 0 then
    if credit then buckets.save_credit(credit - admitted * ADMISSION_COST, earned_until) end
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
-- is held until the last credential issued for it has expired. Counts `event` if it was present: 'ended' is by an operator, 'left' is
-- by its visitor.
-- `brief` means that its tickets are valid for claim_ttl only, and so is the tombstone of one that is not active. `returned` means
-- that its own ticket could have restored it to a slot. Returns the kind of session removed. O(log n).
function tombstones.end_session(session, event, brief, returned)
  local was_ended, removal = tombstones.at(session), REMOVED_ABSENT
  local arrival, admitted_at = tonumber(call('ZSCORE', LINE, session)), nil
  if arrival then
    leaves_line(arrival, tonumber(call('ZSCORE', POOL, session)) or 0)
    call('ZREM', LINE, session)
    call('ZREM', POOL, session)
    removal = REMOVED_WAITING
  else
    admitted_at = tonumber(call('ZSCORE', ACTIVE, session))
    if admitted_at and not tombstones.covers(session, admitted_at) then
      local last_credential = math.min(now + rules.credential_ttl * SECOND, tonumber(call('ZSCORE', POOL, session)) or 0)
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
  if brief and not admitted_at then
    -- As if it had ended so long ago that only claim_ttl is left.
    tombstones.add_at(session, now - (tombstones.ttl() - rules.claim_ttl * SECOND))
  elseif event == 'ended' then
    -- The session may be in the lobby, whose tickets restore it after the draw.
    tombstones.add(session, math.max(admitted_at or 0, tombstones.draw_phase_ends_at()))
  else
    tombstones.add(session, admitted_at)
  end
  measure()
  return removal
end

-- The same as an operation, which then admits to what it frees. O(batch * log n).
local function end_and_advance(session, event, brief, returned)
  reap(REAP_BATCH)
  tombstones.clear(REAP_BATCH)
  local removal = tombstones.end_session(session, event, brief, returned)
  advance()
  return removal
end

-- The reply with the statistics of the queue; see stats.lua.
local function stats_reply()
  local oldest = call('ZRANGE', LINE, 0, 0, 'WITHSCORES')
  local current = schedule and phase() or ''
  local lobby_tickets = current ~= '' and current ~= 'idle' and call('HGET', STATE, lobby_counter())
  local reply = {
    DONE, now, state_since, recovering and 1 or 0, reserved(), waiting, active,
    oldest[2] and drawn.waits_since(tonumber(oldest[2]), drawn.between()) or -1, pace, rules_text, effective_mode(), current, lobby_tickets or 0,
  }
  local filled = #reply
  for i, value in ipairs(call('HMGET', STATE, unpack(COUNTER_FIELDS))) do reply[filled + i] = value end
  reply[#reply + 1] = call('HGET', STATE, 'joins') or ''
  reply[#reply + 1] = attack_mode_until()
  reply[#reply + 1] = rules.admissions_per_minute and math.floor(buckets.credit_now() / ADMISSION_COST) or -1
  return reply
end
