-- Shared by the operations of a job queue: the state of the call, and the rules of job queues.
--
-- KEYS[1..11] of every operation: ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered.
-- ARGV[1] is the time in microseconds since 1970 if a test sets the clock, otherwise '' for the server's time. ARGV[2] are the
-- settings, packed as a map of fields.
--
-- A turn is a job in a set: its sequence number, 8 bytes big-endian, and its ID. Turns of one instant are in the order of
-- acceptance (J4). A record is what `jobs` has of a job; the payload is beside it, so that it is written once. Of a completed job
-- the response is there in its place.
--
-- Three kinds of keys expire by themselves. Jobs name them, and operations end jobs of which only the record is known, so their names
-- are built here, with the hash tag of the others: `dedup:<digest>`, ID of the first job with a key of deduplication and until when
-- another one is a duplicate (J7), `enqueues:<session>`, what a session has enqueued itself in its window, and the window's start, and
-- `ended:<job ID>`, the number of the last message of a job that is not stored any more. Once the job queue was removed, its generation
-- comes before them, so that a later one of the same name starts without them. The generation is the instant of the removal, so that it
-- is higher than all before even if the server has lost them.
--
-- With the setting `by_message`, a message queue brings the jobs with their payloads. They are received by ID (`jobs.start`) in the
-- order of their messages, so a job is in `ready` and `groups` from its first message on. Each time a job becomes unfinished it
-- has a message of its own, numbered by the sequence number that it gets then, and named with the generation. A record names its
-- message until that is known to be deleted. Until its first message, `groups` has it in another range: it waits, but cannot start.
--
-- `state` has the numbers of the job queue in one field, since each field takes time in every operation; in another the lifetimes by
-- which it was found when the first of its jobs expires; and the counters of events.
--
-- The table `jobs` is prepended by Rust, with limits and codes.
do
  local READY, GROUPS, LEASED, UNFINISHED, COMPLETED, DEAD, RECORDS, PAYLOADS, STATE, PROGRESS, DELIVERED
  local now, settings
  -- Cache of the settings decoded last: they rarely differ between calls.
  local decoded_text, decoded
  -- The numbers of the state, of which `expires_at` says before when nothing expires, and these as they were before the operation,
  -- packed.
  local sequence, bytes, kept_bytes, failed_bytes, credit, credit_at, paused_until, held_since, generation, reserved_until, reserved_rate, expires_at
  local before
  -- Events that the operation counts.
  local counts
  -- Jobs that this operation has accepted, and the number of stored jobs.
  local accepted, stored
  -- Records that were read or written in this operation, packed; false for one that does not exist.
  local records
  -- Commands that change many entries of a key at once, by command and by key, and in order.
  local deferred

  local NUMBERS = '>dddddddddddd'

  -- A member of `ready` that is never due. So `ready` exists while there are jobs, unless it is lost.
  jobs.SENTINEL = ''

  -- What precedes a member of `groups` whose message has not arrived. No name of a group begins with it.
  jobs.WITHOUT_MESSAGE = '\0'

  local function pack_numbers()
    return struct.pack(
      NUMBERS, sequence, bytes, kept_bytes, failed_bytes, credit, credit_at, paused_until, held_since, generation, reserved_until, reserved_rate,
      expires_at
    )
  end

  local function unpack_numbers(packed)
    sequence, bytes, kept_bytes, failed_bytes, credit, credit_at, paused_until, held_since, generation, reserved_until, reserved_rate, expires_at =
      struct.unpack(NUMBERS, packed or string.rep('\0', struct.size(NUMBERS)))
  end

  local function count(event, times)
    counts[event] = (counts[event] or 0) + (times or 1)
  end

  -- Counts that the unknown outcome of a job is settled, unless that was recorded before. Its record changes right after.
  local function count_resolved(record)
    if record.unknown and not record.resolution then count('resolved') end
  end

  local function id_of(turn)
    return string.sub(turn, 9)
  end

  local function turn_of(id, record)
    return struct.pack('>I8', record.sequence) .. id
  end

  local function unpack_record(packed)
    if not packed then error('a job without its record: was a key of the job queue evicted or deleted?') end
    return cmsgpack.unpack(packed)
  end

  local function state_of(record)
    if record.ended_at then return record.unknown and 'unknown' or record.reason and 'failed' or 'completed' end
    if record.since then return 'running' end
    return record.failed_attempts and 'retrying' or 'queued'
  end

  -- Executes the deferred commands.
  local function flush()
    if not deferred[1] then return end
    for _, command in ipairs(deferred) do call(unpack(command)) end
    deferred = {}
  end

  -- Adds an entry to a command that is executed at the end of a step: one command for all jobs of a call takes half the time.
  -- Nothing may read before then what it changes.
  local function defer(name, key, first, second)
    local commands = deferred[name] or {}
    local command = commands[key]
    if not command then
      command = { name, key }
      deferred[name], commands[key], deferred[#deferred + 1] = commands, command, command
    end
    command[#command + 1] = first
    command[#command + 1] = second
    if #command > jobs.ARGUMENTS_MAX then flush() end
  end

  -- Reads these records at once.
  function jobs.read(ids)
    for i, packed in ipairs(call('HMGET', RECORDS, unpack(ids))) do records[ids[i]] = packed end
  end

  -- The packed record of a job; false if there is none.
  local function read(id)
    if records[id] == nil then records[id] = call('HGET', RECORDS, id) end
    return records[id]
  end

  -- The record of a job; false if there is none.
  local function find(id)
    local packed = read(id)
    return packed and cmsgpack.unpack(packed)
  end

  local function write(id, record)
    records[id] = cmsgpack.pack(record)
    defer('HSET', RECORDS, id, records[id])
  end

  -- The lowest score of a set as a number; nil if the set is empty. O(1).
  local function first_score(set)
    return tonumber(call('ZRANGE', set, '0', '0', 'WITHSCORES')[2])
  end

  -- The instant this many seconds ago, as text.
  local function ago(seconds)
    return whole(now - seconds * SECOND)
  end

  -- The number of jobs in `ready`, which also has the sentinel.
  local function count_ready()
    return call('ZCARD', READY) - 1
  end

  -- Up to `most` turns with scores up to this text, the oldest first.
  local function older(set, score, most)
    return call('ZRANGE', set, '-inf', score, 'BYSCORE', 'LIMIT', '0', whole(most))
  end

  -- J5: the first unfinished jobs of a group, as members of the set. O(log n).
  local function first_of_group(group, most)
    return call('ZRANGE', GROUPS, '[' .. group .. '\0', '(' .. group .. '\1', 'BYLEX', 'LIMIT', '0', whole(most))
  end

  -- J5: the next job of the group can start. Groups take turns: it is due from now on, however long it has waited.
  local function leave_group(group, turn)
    local member = group .. '\0' .. turn
    local first = first_of_group(group, 2)
    call('ZREM', GROUPS, member, jobs.WITHOUT_MESSAGE .. member)
    if first[1] == member and first[2] then
      call('ZADD', READY, clock_text, string.sub(first[2], #group + 2))
    end
  end

  -- A key that expires by itself.
  local function expiring(name)
    return string.match(READY, '^.*:') .. (generation > 0 and whole(generation) .. ':' or '') .. name
  end

  -- J7: the first job with this key if another one is a duplicate now, and until when.
  local function first_with(key)
    local stored = call('GET', expiring('dedup:' .. key))
    local until_time = stored and tonumber(string.sub(stored, jobs.ID_SIZE + 1))
    if until_time and now < until_time then return string.sub(stored, 1, jobs.ID_SIZE), until_time end
  end

  -- J7: until this time, another job with this key is a duplicate.
  local function remember(key, id, until_time)
    local ttl = whole(math.ceil((until_time - now) / 1000))
    call('SET', expiring('dedup:' .. key), id .. whole(until_time), 'PX', ttl)
  end

  -- From now on, an equal job is no duplicate of this one.
  local function release_key(id, record)
    if record.key and first_with(record.key) == id then call('DEL', expiring('dedup:' .. record.key)) end
  end

  -- H8: an order that may have been placed has duplicates for as long as a result is kept, or it could have waited.
  local function keep_key(id, record)
    if not record.key then return end
    local first = first_with(record.key)
    if first == id or not first and settings.deduplication_interval > 0 then
      local waits_until = record.enqueued_at + (settings.retention + settings.timeout) * SECOND
      remember(record.key, id, math.max(now + settings.result_seconds * SECOND, waits_until))
    end
  end

  -- H8: an order that is completed has no duplicates after `deduplication_interval`.
  local function shorten_key(id, record)
    if not record.key then return end
    local first, before = first_with(record.key)
    local until_time = record.enqueued_at + settings.deduplication_interval * SECOND
    if first ~= id or before <= until_time then return end
    if until_time <= now then release_key(id, record) else remember(record.key, id, until_time) end
  end

  -- Removes a job that ends, and that is neither leased nor ready any more, from the unfinished ones.
  local function leave(record, turn)
    defer('ZREM', UNFINISHED, turn)
    if record.group then leave_group(record.group, turn) end
  end

  -- Whether the payload of a job is stored. Only a message has that of a job that it brings, until it is a dead letter.
  local function has_payload(id)
    return not settings.by_message or call('HEXISTS', PAYLOADS, id) == 1
  end

  local function drop_payload(id, record)
    bytes = bytes - (record.size or 0)
    record.size, record.content_type, record.params = nil, nil, nil
    defer('HDEL', PAYLOADS, id)
  end

  -- Removes the response that reported a failure.
  local function drop_response(record)
    local size = #(record.response or '')
    record.response = nil
    kept_bytes, failed_bytes = kept_bytes - size, failed_bytes - size
  end

  -- J18: keeps the start of the last response that reported a failure if there is room, in place of the one before. Failures have a part
  -- of the room, so that they leave the rest to results.
  local function keep_response(record, response)
    drop_response(record)
    response = string.sub(response, 1, jobs.RESPONSE_KEPT)
    local size = #response
    local has_room = kept_bytes + size <= settings.max_bytes and failed_bytes + size <= settings.max_bytes / jobs.FAILED_PART
    if size == 0 or not has_room then return end
    record.response = response
    kept_bytes, failed_bytes = kept_bytes + size, failed_bytes + size
  end

  -- Completes a job that is not among the unfinished ones any more. Returns its state. A held order that the origin rejects can be
  -- submitted again (H8). J18: the response is kept if there is room, otherwise only what remains of it after its delivery.
  local function complete(id, record, turn, details, response)
    count('acknowledged')
    record.since, record.sent, record.ended_at, record.reason = nil, nil, now, nil
    drop_response(record)
    local has_contents = details.status and details.size > 0 and kept_bytes + details.size <= settings.max_bytes
    if details.status then
      record.result = { status = details.status, location = details.location, size = has_contents and details.size or nil }
    end
    if settings.holds_orders then
      if details.status and details.status >= jobs.REJECTED then
        release_key(id, record)
      else
        shorten_key(id, record)
      end
    end
    if has_contents then
      kept_bytes = kept_bytes + details.size
      bytes = bytes - (record.size or 0)
      record.size, record.content_type, record.params = nil, nil, nil
      defer('HSET', PAYLOADS, id, response)
    else
      drop_payload(id, record)
    end
    defer('ZADD', COMPLETED, clock_text, turn)
    write(id, record)
    return 'completed'
  end

  -- Makes a dead letter of a job that is not among the unfinished ones any more. Returns its state. That of a held order keeps no
  -- payload (H13); unless its outcome is unknown, it can be submitted again (H8).
  local function dead_letter(id, record, turn, reason, is_unknown)
    is_unknown = is_unknown or record.may_be_placed
    local state = is_unknown and 'unknown' or 'failed'
    count(is_unknown and 'unknown' or 'dead')
    record.since, record.sent, record.ended_at, record.reason, record.unknown = nil, nil, now, reason, is_unknown or nil
    if settings.holds_orders then
      drop_payload(id, record)
      if is_unknown then keep_key(id, record) else release_key(id, record) end
    end
    defer('ZADD', DEAD, clock_text, turn)
    write(id, record)
    return state
  end

  -- J16: whether a job is too old to run.
  local function is_expired(record)
    return now >= record.enqueued_at + settings.retention * SECOND
  end

  -- J16: makes a dead letter of a waiting job that is too old.
  local function expire(id, record, turn)
    call('ZREM', READY, turn)
    leave(record, turn)
    dead_letter(id, record, turn, 'expired')
  end

  -- J6: puts a job back whose lease has ended. It is still the first of its group.
  local function wait(id, record, turn, due)
    record.since, record.sent = nil, nil
    if record.group then record.put_back_at = record.put_back_at or now end
    if is_expired(record) then
      leave(record, turn)
      return dead_letter(id, record, turn, 'expired')
    end
    defer('ZADD', READY, whole(due), turn)
    write(id, record)
    return record.failed_attempts and 'retrying' or 'queued'
  end

  -- J18: the last attempts are kept.
  local function keep_attempt(record, reason, status)
    local attempts = record.attempts or {}
    if #attempts == jobs.ATTEMPTS_KEPT then table.remove(attempts, 1) end
    attempts[#attempts + 1] = {
      receive_count = record.receive_count, started_at = record.since, ended_at = now, reason = reason, status = status,
    }
    record.attempts = attempts
  end

  -- J10: microseconds from this failed attempt to the next one. A byte of the ID moves them by up to 20 % either way.
  local function backoff(id, attempt)
    local seconds = math.min(settings.min_backoff * 2 ^ (attempt - 1), settings.max_backoff)
    local spread = string.byte(id, attempt % jobs.ID_SIZE + 1)
    return seconds * (SECOND / 1000) * (800 + math.floor(400 * spread / 255))
  end

  local outcomes = {}

  function outcomes.acknowledged(id, record, turn, details, response)
    keep_attempt(record, nil, details.status)
    leave(record, turn)
    return complete(id, record, turn, details, response)
  end

  -- J12: it was due before it was received, so it is the next one.
  function outcomes.requeued(id, record, turn)
    count('requeued')
    return wait(id, record, turn, record.since)
  end

  -- J10: the handler asks to be called later, which is not an attempt.
  function outcomes.later(id, record, turn, details)
    count('requeued')
    local due = now + math.min(details.seconds, jobs.RETRY_AFTER_MAX) * SECOND
    if details.pauses then paused_until = math.max(paused_until, due) end
    return wait(id, record, turn, due)
  end

  local function fail(id, record, turn, details, response, is_unknown)
    keep_attempt(record, details.reason, details.status)
    keep_response(record, response)
    record.failed_attempts = (record.failed_attempts or 0) + 1
    count('failed')
    if details.is_final or is_unknown or record.failed_attempts >= settings.max_attempts then
      leave(record, turn)
      return dead_letter(id, record, turn, details.reason, is_unknown)
    end
    return wait(id, record, turn, now + backoff(id, record.failed_attempts))
  end

  function outcomes.failed(id, record, turn, details, response)
    return fail(id, record, turn, details, response, false)
  end

  -- H8: an order that the origin may have received is not sent again, unless the settings say so.
  function outcomes.unknown(id, record, turn, details, response)
    if settings.holds_orders and not settings.sends_once then record.may_be_placed = true end
    return fail(id, record, turn, details, response, settings.sends_once)
  end

  -- Ends a lease. Returns the state of the job.
  local function end_lease(id, record, turn, details, response)
    local outcome = outcomes[details.outcome]
    if not outcome then error('unknown outcome: ' .. tostring(details.outcome)) end
    defer('ZREM', LEASED, turn)
    return outcome(id, record, turn, details, response)
  end

  -- The time of a progress message, which precedes it in its field.
  local function progress_time()
    return string.format('%016d ', now)
  end

  -- The field of `progress` that has the message of this number; the last ones have fields of their own.
  local function progress_field(id, number)
    return id .. string.char(number % jobs.PROGRESS_KEPT)
  end

  -- The fields of the messages that are kept of a job, the oldest first.
  local function progress_fields(id, record)
    local fields, last = {}, record.progress or 0
    for number = math.max(last - jobs.PROGRESS_KEPT, 0) + 1, last do fields[#fields + 1] = progress_field(id, number) end
    return fields
  end

  -- Removes a finished job. If its message may still arrive, that must not be taken for one of a job that was lost.
  local function forget(set, turn)
    local id = id_of(turn)
    local record = unpack_record(read(id))
    if record.message then
      call('SET', expiring('ended:' .. id), whole(record.message), 'EX', jobs.MESSAGE_RETENTION)
    end
    count_resolved(record)
    bytes = bytes - (record.size or 0)
    drop_response(record)
    kept_bytes = kept_bytes - (record.progress_size or 0) - (record.result and record.result.size or 0)
    for _, field in ipairs(progress_fields(id, record)) do defer('HDEL', PROGRESS, field) end
    if record.delivered_at then defer('ZREM', DELIVERED, turn) end
    records[id] = false
    defer('ZREM', set, turn)
    defer('HDEL', RECORDS, id)
    defer('HDEL', PAYLOADS, id)
  end

  -- J18: removes headers and body of a delivered response.
  local function reduce(turn)
    local id = id_of(turn)
    local record = unpack_record(read(id))
    kept_bytes = kept_bytes - (record.result.size or 0)
    record.result.size = nil
    defer('ZREM', DELIVERED, turn)
    defer('HDEL', PAYLOADS, id)
    write(id, record)
  end

  -- Up to `most` waiting jobs that were accepted until the instant of this text, the oldest first. There are at most `concurrency` leased ones
  -- to skip.
  local function waiting(score, most)
    local turns, found = older(UNFINISHED, score, most + call('ZCARD', LEASED)), {}
    if #turns == 0 then return found end
    for i, lease in ipairs(call('ZMSCORE', LEASED, unpack(turns))) do
      if not lease and #found < most then found[#found + 1] = turns[i] end
    end
    return found
  end

  -- Up to a batch of what has expired of a set: that is, this many seconds after its score. `expires_at` is not after its first.
  local function expired(set, seconds)
    local first = first_score(set)
    if not first then return {} end
    first = first + seconds * SECOND
    expires_at = math.min(expires_at, first)
    return first <= now and older(set, ago(seconds), jobs.REAP_BATCH) or {}
  end

  -- Removes up to a batch of everything that has expired, O(log n) each, and finds `expires_at`: what is added from now on has at least
  -- the shortest lifetime.
  local function reap(lifetimes)
    if lifetimes ~= settings.lifetimes then call('HSET', STATE, 'lifetimes', settings.lifetimes) end
    expires_at = now + settings.shortest_lifetime
    for _, turn in ipairs(expired(LEASED, 0)) do
      local id = id_of(turn)
      local record = unpack_record(read(id))
      local details = { outcome = record.sent and 'unknown' or 'failed', reason = 'lease_expired' }
      end_lease(id, record, turn, details, '')
    end
    flush()
    -- J16: a leased job is checked when its lease ends.
    if expired(UNFINISHED, settings.retention)[1] then
      for _, turn in ipairs(waiting(ago(settings.retention), jobs.REAP_BATCH)) do
        local id = id_of(turn)
        expire(id, unpack_record(read(id)), turn)
      end
      flush()
    end
    for _, turn in ipairs(expired(COMPLETED, settings.result_seconds)) do forget(COMPLETED, turn) end
    for _, turn in ipairs(expired(DEAD, settings.dead_letter_retention)) do forget(DEAD, turn) end
    flush()
    for _, turn in ipairs(expired(DELIVERED, jobs.DELIVERED)) do reduce(turn) end
    flush()
  end

  -- The settings with what follows from them.
  local function unpack_settings(packed)
    local unpacked = cmsgpack.unpack(packed)
    local lease, waiting, result, dead =
      unpacked.lease_seconds, unpacked.retention, unpacked.result_seconds, unpacked.dead_letter_retention
    unpacked.lifetimes = string.format('%d %d %d %d', lease, waiting, result, dead)
    unpacked.shortest_lifetime = math.min(lease, waiting, result, dead, jobs.DELIVERED) * SECOND
    return unpacked
  end

  -- Removes what is left of jobs whose records are lost, because their key was evicted or deleted: nobody can run or show them.
  -- Equal jobs are no duplicates of them. Messages bring their jobs again.
  local function forget_lost()
    count('lost', call('ZCARD', DEAD) + (settings.by_message and 0 or call('ZCARD', UNFINISHED)))
    call('UNLINK', READY, GROUPS, LEASED, UNFINISHED, COMPLETED, DEAD, PAYLOADS, PROGRESS, DELIVERED)
    bytes, kept_bytes, failed_bytes = 0, 0, 0
    if not settings.by_message then generation = math.max(generation + 1, now) end
  end

  -- Puts all jobs into their sets again, as their records say. Jobs that wait for a retry are due now, since only `ready` knows when it
  -- was due.
  local function rebuild()
    local cursor, first_ones = '0', {}
    local function ready_again(turn, record)
      if not record.since then
        defer('ZADD', READY, whole(record.failed_attempts and now or record.due or record.enqueued_at), turn)
      end
    end
    defer('ZADD', READY, '+inf', jobs.SENTINEL)
    repeat
      local found = call('HSCAN', RECORDS, cursor, 'COUNT', '1000')
      cursor = found[1]
      for i = 1, #found[2], 2 do
        local record = unpack_record(found[2][i + 1])
        local turn, group = turn_of(found[2][i], record), record.group
        local has_arrived = not settings.by_message or record.has_arrived
        if record.ended_at then
          defer('ZADD', record.reason and DEAD or COMPLETED, whole(record.ended_at), turn)
        else
          defer('ZADD', UNFINISHED, whole(record.enqueued_at), turn)
          if record.since then call('ZADD', LEASED, 'NX', whole(now + settings.lease_seconds * SECOND), turn) end
          if group then defer('ZADD', GROUPS, '0', (has_arrived and '' or jobs.WITHOUT_MESSAGE) .. group .. '\0' .. turn) end
          if has_arrived and not group then ready_again(turn, record) end
          if has_arrived and group and (not first_ones[group] or record.sequence < first_ones[group].record.sequence) then
            first_ones[group] = { turn = turn, record = record }
          end
        end
      end
    until cursor == '0'
    for _, first in pairs(first_ones) do ready_again(first.turn, first.record) end
    flush()
  end

  -- Repairs a job queue that has lost a key, because it was evicted or deleted. O(1) unless one is lost. `receive` notices lost payloads.
  local function repair()
    if call('EXISTS', RECORDS) == 0 then
      if call('EXISTS', UNFINISHED, COMPLETED, DEAD) > 0 then forget_lost() end
    elseif call('EXISTS', READY) == 0 then
      rebuild()
    elseif call('EXISTS', UNFINISHED) == 1 then
      if settings.is_fifo and call('EXISTS', GROUPS) == 0 then rebuild() end
    elseif call('ZCARD', READY) > 1 or call('EXISTS', LEASED, GROUPS) > 0 then
      rebuild()
    end
  end

  -- Begins an operation.
  function jobs.begin(keys, args)
    begin_clock(args)
    now = clock
    READY, GROUPS, LEASED, UNFINISHED, COMPLETED, DEAD, RECORDS, PAYLOADS, STATE, PROGRESS, DELIVERED = unpack(keys, 1, 11)
    if args[2] ~= decoded_text then decoded_text, decoded = args[2], unpack_settings(args[2]) end
    settings = decoded
    local state = call('HMGET', STATE, 'numbers', 'lifetimes')
    before = state[1]
    unpack_numbers(before)
    counts, accepted, stored, records, deferred = {}, {}, nil, {}, {}
    -- While jobs are unfinished, all of these exist.
    if call('EXISTS', RECORDS, READY, UNFINISHED, GROUPS) < (settings.is_fifo and 4 or 3) then repair() end
    -- J13: since when messages of a paused job queue wait. Every operation sees whether it is paused.
    held_since = settings.by_message and settings.paused and math.min(held_since > 0 and held_since or now, now) or 0
    -- J13: the pause of an operator takes the place of one that a handler asked for.
    if settings.paused then paused_until = 0 end
    -- If the clock was set back, what was added since expires earlier.
    local is_clean = now < expires_at and now >= expires_at - settings.shortest_lifetime
    if not is_clean or state[2] ~= settings.lifetimes then reap(state[2]) end
  end

  -- Returns 1 if something is left that has expired, else 0.
  function jobs.has_expired()
    if expires_at > now then return 0 end
    local left = #expired(LEASED, 0) + #waiting(ago(settings.retention), 1) + #expired(COMPLETED, settings.result_seconds)
      + #expired(DEAD, settings.dead_letter_retention) + #expired(DELIVERED, jobs.DELIVERED)
    return left > 0 and 1 or 0
  end

  -- Writes what the operation changed of the state.
  local function save()
    flush()
    local numbers = pack_numbers()
    if numbers ~= before then call('HSET', STATE, 'numbers', numbers) end
    for event, times in pairs(counts) do call('HINCRBY', STATE, event, whole(times)) end
  end

  -- Ends an operation and returns its reply.
  function jobs.reply(reply)
    save()
    return reply
  end

  -- How many jobs a session has enqueued itself within its window, when that began, and its key.
  local function enqueued_by(session)
    local key = expiring('enqueues:' .. session)
    local times, since = string.match(call('GET', key) or '', '^(%d+) (%d+)$')
    if times and now < since + jobs.ENQUEUES_WINDOW * SECOND then return tonumber(times), tonumber(since), key end
    return 0, now, key
  end

  -- J2: whether this job is known because this very call was sent before and its reply was lost.
  local function is_repeated(packed, id, token)
    return packed and not accepted[id] and cmsgpack.unpack(packed).token == token
  end

  -- Puts a waiting job into its group, and makes it ready if it is the first one.
  local function make_ready(record, turn, due)
    local is_first = true
    if record.group then
      is_first = not first_of_group(record.group, 1)[1]
      call('ZADD', GROUPS, '0', record.group .. '\0' .. turn)
    end
    if is_first then defer('ZADD', READY, whole(due), turn) end
  end

  -- Adds a waiting job, whose sequence number is new, to the unfinished ones.
  local function append(id, record, due)
    local turn = turn_of(id, record)
    defer('ZADD', UNFINISHED, whole(record.enqueued_at), turn)
    defer('ZADD', READY, '+inf', jobs.SENTINEL)
    if settings.by_message then
      record.message, record.has_arrived, record.has_copies = record.message or sequence, nil, nil
      if record.group then call('ZADD', GROUPS, '0', jobs.WITHOUT_MESSAGE .. record.group .. '\0' .. turn) end
    else
      make_ready(record, turn, due)
    end
    write(id, record)
  end

  -- Accepts a job. `new` has the fields of its record that the producer decides, its delay and its size.
  local function accept(id, new, enqueued_at, token, message)
    sequence = sequence + 1
    bytes = bytes + new.size
    accepted[id] = true
    local due = enqueued_at + (new.delay_seconds or 0) * SECOND
    local record = {
      sequence = sequence, enqueued_at = enqueued_at, token = token, size = new.size, content_type = new.content_type,
      group = new.group, user_id = new.user_id, session = new.session, params = new.params, key = new.key,
      due = due ~= enqueued_at and due or nil, message = message, content = new.content,
    }
    local duplicate_until = enqueued_at + settings.duplicate_seconds * SECOND
    if new.key and settings.deduplication_interval > 0 and duplicate_until > now then
      remember(new.key, id, duplicate_until)
    end
    count('enqueued')
    append(id, record, due)
    return record
  end

  -- J7: the job that a visitor enqueued before signing in, if an equal one is a duplicate now.
  local function first_before_signing_in(new)
    if new.former_key then return (first_with(new.former_key)) end
    local byte_of = function(digits) return string.char(tonumber(digits, 16)) end
    local id = new.former_id and string.gsub(new.former_id, '%x%x', byte_of)
    return id and read(id) and id
  end

  -- J3: whether the job queue was removed a short time ago, and not created since: some processes may not know yet.
  local function is_removed()
    local until_time = generation > 0 and tonumber(call('HGET', STATE, 'removed_until') or '')
    return until_time and now < until_time
  end

  -- From now on, a job queue that was removed accepts jobs.
  function jobs.create()
    call('HDEL', STATE, 'removed_until')
  end

  -- Enqueues a job. `new` has the fields of its record that the producer decides, and its delay. Returns ACCEPTED, FULL, TOO_MANY,
  -- REMOVED, or the ID of the job that it duplicates.
  function jobs.enqueue(id, new, payload, token)
    if is_removed() then return jobs.REMOVED end
    local first = new.key and first_with(new.key)
    if not first or first == id then
      local packed = read(id)
      if is_repeated(packed, id, token) then
        accepted[id] = true
        return jobs.ACCEPTED
      end
      first = first or packed and id
    end
    first = first or first_before_signing_in(new)
    if first then
      count('duplicate')
      return first
    end
    local times, since, window
    if new.by_visitor and new.session then
      times, since, window = enqueued_by(new.session)
      if times >= settings.enqueues_per_minute then return jobs.TOO_MANY end
    end
    stored = stored or call('ZCARD', UNFINISHED) + call('ZCARD', DEAD)
    local most, most_bytes = settings.max_jobs, settings.max_bytes
    if new.by_visitor then most, most_bytes = settings.visitors_max_jobs, settings.visitors_max_bytes end
    if stored >= most or bytes + new.size > most_bytes then return jobs.FULL end
    stored = stored + 1
    if window then
      call('SET', window, string.format('%d %d', times + 1, since), 'EX', jobs.ENQUEUES_WINDOW)
    end
    accept(id, new, now, token)
    if payload then defer('HSET', PAYLOADS, id, payload) end
    return jobs.ACCEPTED
  end

  -- Adds to a reply the number of the message that an unfinished job needs, and the generation; -1 for the number if one has arrived,
  -- or none is needed. A duplicate has the `content` of what it duplicates, or sends no message for it: whichever message arrives first
  -- brings the payload.
  function jobs.message_to_send(reply, id, content)
    local record = find(id)
    local is_needed = record and not record.ended_at and not record.has_arrived and (not content or record.content == content)
    if is_needed and content and not accepted[id] then
      record.has_copies = true
      write(id, record)
    end
    reply[#reply + 1], reply[#reply + 2] = is_needed and record.message or -1, generation
  end

  -- Withdraws a job whose message was not sent. One that was replayed is a dead letter again. Returns 1, or 0 for a job that stays,
  -- because its message has arrived or another request sends it, too.
  function jobs.withdraw(id)
    local record = find(id)
    if not record then return 1 end
    if record.has_arrived then return 0 end
    -- A call before, whose reply was lost, has withdrawn it.
    if record.ended_at then return 1 end
    if record.has_copies then return 0 end
    local turn = turn_of(id, record)
    leave(record, turn)
    if record.replayed then
      dead_letter(id, record, turn, record.replayed)
    else
      count('canceled')
      release_key(id, record)
      record.message = nil
      write(id, record)
      forget(UNFINISHED, turn)
    end
    return 1
  end

  -- Records that the message of an ended job was deleted. Another one of its number may be on its way if it was sent more than once.
  function jobs.message_deleted(id, of_generation, message)
    local record = of_generation == generation and find(id)
    if record and record.ended_at and record.message == message and not record.has_copies then
      record.message = nil
      write(id, record)
    end
  end

  -- Registers a job again that is not known, because the server lost its data. Nothing happens if the job queue was removed or an equal
  -- job accepted meanwhile. A held order that may have been sent is not sent again.
  function jobs.restore(id, new, of_generation, message, enqueued_at, may_be_sent)
    if of_generation < generation then return end
    generation = of_generation
    local first = new.key and first_with(new.key)
    if read(id) or first and first ~= id then return end
    local record = accept(id, new, math.min(enqueued_at, now), nil, message)
    -- It may have expired already.
    expires_at = now
    if may_be_sent and settings.holds_orders and settings.sends_once then
      local turn = turn_of(id, record)
      leave(record, turn)
      dead_letter(id, record, turn, 'lease_expired', true)
    end
  end

  -- Keeps the payload of a dead letter, which came with a message.
  function jobs.keep_payload(id, payload)
    local record = find(id)
    if record and record.reason and record.size then call('HSET', PAYLOADS, id, payload) end
  end

  -- J8: adds what was earned to the bucket of starts.
  local function earn(rate)
    credit, credit_at = buckets.refill(credit, math.min(credit_at, now), rate, nil, now)
  end

  -- J8: the jobs that can start, as IDs, turns and records, the one that has been due longest first, and 1 if there are more than
  -- RECEIVE_BYTES, else 0. Pays for them. Those that are too old are left out: `reap` removes them (J16).
  local function take_first(max)
    local ids, turns, found, bytes_found, has_more = {}, {}, {}, 0, 0
    local most = math.min(max, jobs.BATCH, settings.concurrency - call('ZCARD', LEASED))
    if most <= 0 or settings.paused or paused_until > 0 then return ids, turns, found, 0 end
    local due, rate = older(READY, clock_text, most), settings.dispatches_per_minute
    if due[1] and rate then
      earn(rate)
      due = { unpack(due, 1, math.min(#due, math.floor(credit / ADMISSION_COST))) }
    end
    if not due[1] then return ids, turns, found, 0 end
    local due_ids = {}
    for i, turn in ipairs(due) do due_ids[i] = id_of(turn) end
    for i, packed in ipairs(call('HMGET', RECORDS, unpack(due_ids))) do
      local record = unpack_record(packed)
      if not is_expired(record) then
        bytes_found = bytes_found + record.size
        has_more = ids[1] and bytes_found > jobs.RECEIVE_BYTES and 1 or 0
        if has_more == 1 then break end
        ids[#ids + 1], turns[#turns + 1], found[#found + 1] = due_ids[i], due[i], record
      end
    end
    if rate then credit = credit - #turns * ADMISSION_COST end
    return ids, turns, found, has_more
  end

  -- The earliest instant at which a job can start if nothing else happens; -1 if there is none.
  local function next_due()
    if settings.paused then return -1 end
    local first_lease = first_score(LEASED)
    local is_full = call('ZCARD', LEASED) >= settings.concurrency
    local due = not is_full and first_score(READY)
    if due then
      local rate = settings.dispatches_per_minute
      local earned = rate and math.min(credit_at, now) + math.ceil(math.max(ADMISSION_COST - credit, 0) / rate) or now
      due = math.max(due, earned, paused_until)
    end
    return math.min(due or math.huge, first_lease or math.huge)
  end

  -- Records that a job is received.
  local function received(record)
    record.since, record.sent, record.receive_count = now, nil, (record.receive_count or 0) + 1
  end

  -- Leases up to `max` jobs that are due. One whose payload is lost becomes a dead letter, so that it holds up no others. Returns when the
  -- next one can start, 1 if RECEIVE_BYTES left some out, else 0, and of each
  -- job ID, record and payload.
  function jobs.receive(max)
    if paused_until <= now then paused_until = 0 end
    local ids, turns, found, has_more = take_first(max)
    local reply = { -1, has_more }
    if ids[1] then
      local leases, changed, payloads = {}, {}, call('HMGET', PAYLOADS, unpack(ids))
      local until_time = whole(now + settings.lease_seconds * SECOND)
      call('ZREM', READY, unpack(turns))
      for i, id in ipairs(ids) do
        local record = found[i]
        if payloads[i] then
          received(record)
          leases[#leases + 1], leases[#leases + 2] = until_time, turns[i]
          changed[#changed + 1], changed[#changed + 2] = id, cmsgpack.pack(record)
          reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = id, changed[#changed], payloads[i]
        else
          leave(record, turns[i])
          drop_payload(id, record)
          dead_letter(id, record, turns[i], 'payload_lost')
        end
      end
      if leases[1] then
        call('ZADD', LEASED, unpack(leases))
        call('HSET', RECORDS, unpack(changed))
      end
    end
    local due = next_due()
    reply[1] = due == math.huge and -1 or due
    return reply
  end

  -- A message of a job has arrived for the first time. If messages of two jobs of a group came in another order than they were
  -- accepted in, at the same time, the sequence number follows the messages (J4).
  local function arrive(id, record, turn)
    record.has_arrived = true
    local group = record.group
    if group then call('ZREM', GROUPS, jobs.WITHOUT_MESSAGE .. group .. '\0' .. turn) end
    -- The last one of its group that has arrived.
    local last = group and call('ZRANGE', GROUPS, '(' .. group .. '\1', '[' .. group .. '\0', 'BYLEX', 'REV', 'LIMIT', 0, 1)[1]
    if last and struct.unpack('>I8', string.sub(last, #group + 2)) > record.sequence then
      call('ZREM', UNFINISHED, turn)
      sequence = sequence + 1
      record.sequence = sequence
      turn = turn_of(id, record)
      call('ZADD', UNFINISHED, record.enqueued_at, turn)
    end
    make_ready(record, turn, record.due or now)
    write(id, record)
    flush()
    return turn
  end

  -- J13: when a job of a paused job queue is looked at again: after as long as the pause has lasted.
  local function pause_until()
    return now + math.min(math.max(now - held_since, jobs.PAUSE_WAIT_MIN * SECOND), jobs.WAIT_MAX * SECOND)
  end

  -- J8: when a job that a message brings can start by the rate; `now` at the earliest, which pays for it. A job that has to wait
  -- reserves an instant, at which its message is looked at again. Jobs without one do not start before those that have reserved
  -- theirs. A reservation is no start: when the job comes, the bucket decides. A job that comes too late, as after a pause, reserves
  -- another instant. Reservations by another rate hold nobody up.
  local function start_by_rate(id, record, turn, reserved)
    local rate = settings.dispatches_per_minute
    if not rate then return now end
    local apart = math.ceil(ADMISSION_COST / rate)
    if reserved_rate ~= rate or reserved_until > now + jobs.WAIT_MAX * SECOND + apart then
      reserved_until, reserved_rate = 0, rate
    end
    earn(rate)
    if credit >= ADMISSION_COST and (record.is_reserved or reserved_until <= now) then
      credit = credit - ADMISSION_COST
      return now
    end
    local start = now + math.ceil(math.max(ADMISSION_COST - credit, 0) / rate)
    if record.is_reserved and now - reserved <= jobs.RESERVED_FOR * SECOND then return start end
    start = math.max(start, reserved_until)
    if start > now + jobs.WAIT_MAX * SECOND then return now + jobs.WAIT_MAX * SECOND end
    reserved_until, record.is_reserved = start + apart, true
    call('ZADD', READY, whole(start), turn)
    write(id, record)
    return start
  end

  -- J8: when a job that a message brings can start; `now` at the earliest.
  local function earliest_start(id, record, turn)
    if settings.paused then return pause_until() end
    local due = tonumber(call('ZSCORE', READY, turn))
    -- It waits for its group, whose first job has a message, too.
    if not due then return now + SECOND end
    if due > now then return due end
    -- The longer it has waited, the more rarely it is looked at, so that its message is not received too often to be kept.
    local share = (now - record.enqueued_at) / jobs.SLOT_WAIT_PART
    -- An operator can end the pause.
    if paused_until > now then
      return math.min(paused_until, now + math.floor(math.max(jobs.SLOT_WAIT_MAX * SECOND, share)))
    end
    if call('ZCARD', LEASED) >= settings.concurrency then
      local turns = count_ready() / settings.concurrency
      return now + math.floor(math.max(math.min(math.max(turns, 1), jobs.SLOT_WAIT_MAX) * SECOND, share))
    end
    return start_by_rate(id, record, turn, due)
  end

  -- J5, J6, J8, J9: leases the job that a message brings if it can start now. Adds to a reply STARTED and the record; WAITS and for
  -- how long; LOST for a job that is not known; FINISHED for one that has ended, was canceled, has another message or was in a job
  -- queue that was removed; NEEDS_PAYLOAD for a dead letter whose payload is not stored.
  function jobs.start(reply, id, of_generation, message)
    local record = find(id)
    if not record or of_generation < generation then
      local last = tonumber(call('GET', expiring('ended:' .. id))) or 0
      reply[#reply + 1] = (of_generation < generation or message <= last) and jobs.FINISHED or jobs.LOST
      return
    end
    -- J16: nothing starts that is too old.
    if not record.ended_at and not record.since and is_expired(record) then
      expire(id, record, turn_of(id, record))
      flush()
    end
    if record.ended_at or record.message ~= message then
      local needs_payload = record.message == message and record.reason and record.size and not has_payload(id)
      reply[#reply + 1] = needs_payload and jobs.NEEDS_PAYLOAD or jobs.FINISHED
      return
    end
    local turn, start = turn_of(id, record)
    if record.since then
      start = tonumber(call('ZSCORE', LEASED, turn))
    else
      if not record.has_arrived then turn = arrive(id, record, turn) end
      start = earliest_start(id, record, turn)
    end
    if record.since or start > now then
      reply[#reply + 1], reply[#reply + 2] = jobs.WAITS, math.max(start - now, 0)
      return
    end
    received(record)
    record.is_reserved = nil
    call('ZREM', READY, turn)
    call('ZADD', LEASED, whole(now + settings.lease_seconds * SECOND), turn)
    write(id, record)
    reply[#reply + 1], reply[#reply + 2] = jobs.STARTED, records[id]
  end

  -- J9: whether a lease is current; others are counted.
  local function is_current(record, receive_count)
    if record and record.since and record.receive_count == receive_count then return true end
    count('refused')
    return false
  end

  -- J9: extends a lease to this many seconds from now on, and never shortens it. H7: records that a held order is sent. Returns 1 if
  -- the lease is current, else 0.
  function jobs.extend(id, receive_count, seconds, is_sent)
    local record = find(id)
    if not is_current(record, receive_count) then return 0 end
    if is_sent and not record.sent then
      record.sent = true
      write(id, record)
    end
    call('ZADD', LEASED, 'GT', whole(now + seconds * SECOND), turn_of(id, record))
    return 1
  end

  -- J18: adds a progress message to a leased job. Returns ACCEPTED, FULL or NOT_LEASED.
  function jobs.add_progress(id, receive_count, message)
    local record = find(id)
    if not is_current(record, receive_count) then return jobs.NOT_LEASED end
    local number = (record.progress or 0) + 1
    local field = progress_field(id, number)
    local replaced = math.max(call('HSTRLEN', PROGRESS, field) - #progress_time(), 0)
    if kept_bytes - replaced + #message > settings.max_bytes then return jobs.FULL end
    kept_bytes = kept_bytes - replaced + #message
    record.progress, record.progress_size = number, (record.progress_size or 0) - replaced + #message
    call('HSET', PROGRESS, field, progress_time() .. message)
    write(id, record)
    return jobs.ACCEPTED
  end

  -- J18: the response to a held order was delivered. Its contents are removed later.
  function jobs.mark_delivered(id)
    local record = settings.holds_orders and find(id)
    if not record or not record.result or record.delivered_at then return end
    record.delivered_at = now
    call('ZADD', DELIVERED, clock_text, turn_of(id, record))
    write(id, record)
  end

  -- H8: a late result replaces an unknown outcome. If the origin did not process the order, the visitor can submit it again.
  local function settle_late(id, record, details, response)
    local is_acknowledged = details.outcome == 'acknowledged'
    if not is_acknowledged and details.outcome ~= 'failed' and details.outcome ~= 'later' then
      count('refused')
      return ''
    end
    -- What the same call has deferred of this job comes first.
    flush()
    local reason = not is_acknowledged and (details.reason or 'status') or nil
    local attempt, turn = record.attempts[#record.attempts], turn_of(id, record)
    attempt.ended_at, attempt.reason, attempt.status = now, reason, details.status
    count_resolved(record)
    record.unknown, record.resolution = nil, nil
    call('ZREM', DEAD, turn)
    if is_acknowledged then return complete(id, record, turn, details, response) end
    return dead_letter(id, record, turn, reason)
  end

  -- J9: whether an equal settlement, whose reply may have been lost, has ended the last lease of a job.
  local function is_repeated_settlement(record, details)
    if record.since or record.receive_count ~= details.receive_count then return false end
    local attempt = record.attempts and record.attempts[#record.attempts]
    if attempt and attempt.receive_count ~= record.receive_count then attempt = nil end
    local outcome = details.outcome
    if outcome == 'later' or outcome == 'requeued' then return not attempt end
    -- It replaces an unknown outcome (H8).
    if outcome == 'failed' and record.unknown then return false end
    return attempt and attempt.reason == details.reason and attempt.status == details.status
  end

  -- Ends a lease. Returns the state of the job, or '' for a lease that is not current.
  function jobs.settle(id, details, response)
    local record = find(id)
    if record and is_repeated_settlement(record, details) then return state_of(record) end
    if record and record.unknown and record.receive_count == details.receive_count then
      return settle_late(id, record, details, response)
    end
    if not is_current(record, details.receive_count) then return '' end
    return end_lease(id, record, turn_of(id, record), details, response)
  end

  -- The number of jobs that start before a waiting one if nothing changes. O(log n).
  local function ahead(turn, record)
    local rank = call('ZRANK', READY, turn)
    if rank then return rank end
    -- It waits for its group: it is due after the jobs that are ready now. The first one of its group is among them, or runs.
    local before = call('ZLEXCOUNT', GROUPS, '[' .. record.group .. '\0', '(' .. record.group .. '\0' .. turn)
    return count_ready() + before - 1
  end

  -- Adds to a reply the state of a job, when it is due or -1, the number of jobs ahead of it or -1, its record, the last response
  -- that reported a failure, its payload or result if the view has it and it is stored, its progress; '' if there is no such job.
  function jobs.get(reply, id, detail)
    local record = find(id)
    if not record then
      reply[#reply + 1] = ''
      return
    end
    local state, due, before = state_of(record), -1, 0
    if not record.ended_at and not record.since then
      local turn = turn_of(id, record)
      -- A job that waits for its group is not ready.
      due = tonumber(call('ZSCORE', READY, turn)) or record.due or record.enqueued_at
      before = settings.by_message and -1 or ahead(turn, record)
    end
    local fields = progress_fields(id, record)
    local progress = fields[1] and call('HMGET', PROGRESS, unpack(fields)) or {}
    local has_result = record.result and record.result.size
    local contents = (detail == 'contents' or detail == 'result' and has_result) and call('HGET', PAYLOADS, id) or false
    for _, part in ipairs({ state, due, before, records[id], record.response or '', contents, progress }) do reply[#reply + 1] = part end
  end

  -- J13: deletes a waiting job, so that an equal one is no duplicate of a job that never runs. A held order becomes a dead letter,
  -- because its visitor follows it.
  local function cancel_waiting(id, record, turn)
    call('ZREM', READY, turn)
    leave(record, turn)
    if settings.holds_orders then
      dead_letter(id, record, turn, 'canceled')
    else
      count('canceled')
      release_key(id, record)
      forget(UNFINISHED, turn)
    end
  end

  -- Cancels a job that is not leased. Returns CANCELED, LEASED, FINISHED or UNKNOWN.
  function jobs.cancel(id)
    local record = find(id)
    if not record then return jobs.UNKNOWN end
    if record.ended_at then return jobs.FINISHED end
    if record.since then return jobs.LEASED end
    cancel_waiting(id, record, turn_of(id, record))
    return jobs.CANCELED
  end

  -- J13: cancels up to a batch of waiting jobs, the oldest first. Returns how many, and 1 if jobs still wait, else 0.
  function jobs.drain()
    local turns = waiting('+inf', jobs.DRAIN_BATCH)
    for _, turn in ipairs(turns) do
      local id = id_of(turn)
      cancel_waiting(id, unpack_record(read(id)), turn)
    end
    flush()
    return { #turns, call('ZCARD', UNFINISHED) > call('ZCARD', LEASED) and 1 or 0 }
  end

  -- J14: the IDs of up to `limit` dead letters, the newest first; before the one with this end and sequence number if given.
  function jobs.dead_letters(limit, ended_at, before)
    local start = 0
    if ended_at then
      -- Sorts just before the turn of that sequence number, whether it is there or not.
      local prefix = struct.pack('>I8', before)
      call('ZADD', DEAD, ended_at, prefix)
      start = call('ZREVRANK', DEAD, prefix)
      call('ZREM', DEAD, prefix)
    end
    local ids = {}
    if limit <= 0 then return ids end
    for i, turn in ipairs(call('ZRANGE', DEAD, start, start + limit - 1, 'REV')) do ids[i] = id_of(turn) end
    return ids
  end

  -- The record of a dead letter; nil for other jobs.
  local function dead_record(id)
    local record = find(id)
    if record and record.reason then return record end
  end

  -- Deletes a dead letter. An equal job is no duplicate any more, unless the outcome is unknown. Returns 1, or 0 if it is none.
  function jobs.delete_dead(id)
    local record = dead_record(id)
    if not record then return 0 end
    if not record.unknown then release_key(id, record) end
    forget(DEAD, turn_of(id, record))
    return 1
  end

  -- J14: puts a dead letter back. Returns 1, or 0 if it is none, a held order, which is never put back (H13), or has no payload: its
  -- message has not arrived yet.
  function jobs.replay(id)
    local record = dead_record(id)
    if not record or settings.holds_orders or not record.size or not has_payload(id) then return 0 end
    count('replayed')
    count_resolved(record)
    call('ZREM', DEAD, turn_of(id, record))
    sequence = sequence + 1
    record.sequence, record.enqueued_at, record.due, record.message = sequence, now, nil, nil
    record.replayed = settings.by_message and record.reason or nil
    record.ended_at, record.reason, record.unknown, record.resolution = nil, nil, nil, nil
    record.failed_attempts, record.put_back_at = nil, nil
    drop_response(record)
    append(id, record, now)
    return 1
  end

  -- J14: puts up to a batch of dead letters back that ended until then, or until now if it is nil, the oldest first. Returns how many,
  -- the instant, 1 if there are more, else 0, and the IDs.
  function jobs.replay_all(until_time)
    until_time = until_time or now
    local turns = call('ZRANGE', DEAD, '-inf', until_time, 'BYSCORE', 'LIMIT', 0, jobs.REPLAY_BATCH + 1)
    local ids = {}
    for i = 1, math.min(#turns, jobs.REPLAY_BATCH) do
      local id = id_of(turns[i])
      if jobs.replay(id) == 1 then ids[#ids + 1] = id end
    end
    return { #ids, until_time, #turns > jobs.REPLAY_BATCH and #ids > 0 and 1 or 0, ids }
  end

  -- H9: records what became of a held order whose outcome is unknown. Returns 1, or 0 if the job is none.
  function jobs.resolve(id, resolution)
    local record = dead_record(id)
    if not record or not record.unknown then return 0 end
    -- The key may have been released before by mistake.
    if resolution == 'not_placed' then release_key(id, record) else keep_key(id, record) end
    count_resolved(record)
    record.resolution = resolution
    write(id, record)
    return 1
  end

  -- Removes everything that these keys have; for REMOVED_SECONDS no jobs are accepted then, unless the job queue is created again. Returns 1, or 0 if there are unfinished jobs or dead letters.
  function jobs.remove()
    save()
    if call('ZCARD', UNFINISHED) + call('ZCARD', DEAD) > 0 then return 0 end
    call('UNLINK', READY, COMPLETED, RECORDS, PAYLOADS, STATE, PROGRESS, DELIVERED)
    local next_generation = math.max(generation + 1, now)
    unpack_numbers(nil)
    generation = next_generation
    call('HSET', STATE, 'numbers', pack_numbers(), 'removed_until', whole(now + jobs.REMOVED_SECONDS * SECOND))
    return 1
  end

  -- J6: of the groups of the oldest unfinished jobs, the one that has been blocked longest: the ID of its first job, and microseconds
  -- since that was put back for the first time. '' and -1 without one. A job waits for it whether its message has arrived or not.
  local function blocked_group()
    if call('EXISTS', GROUPS) == 0 then return '', -1 end
    local ids, blocking, since = {}, '', math.huge
    for i, turn in ipairs(call('ZRANGE', UNFINISHED, 0, jobs.BLOCKING_SEARCH - 1)) do ids[i] = id_of(turn) end
    jobs.read(ids)
    for _, id in ipairs(ids) do
      local record = unpack_record(read(id))
      local put_back_at = record.put_back_at or math.huge
      local is_first = put_back_at < since
      local follower = is_first and (first_of_group(record.group, 2)[2] or first_of_group(jobs.WITHOUT_MESSAGE .. record.group, 1)[1])
      if follower then blocking, since = id, put_back_at end
    end
    return blocking, since < math.huge and math.max(now - since, 0) or -1
  end

  -- Returns the numbers of waiting jobs, of those that can start now, of running jobs and of dead letters, the size of all payloads, microseconds since the oldest
  -- unfinished job was accepted or -1, the first job of the group that has been blocked longest or '', for how many microseconds or
  -- -1, when a pause ends or -1, and the fields of the state, which include the counters.
  function jobs.stats()
    save()
    local running, oldest = call('ZCARD', LEASED), first_score(UNFINISHED)
    local blocking, blocked_for = blocked_group()
    return {
      call('ZCARD', UNFINISHED) - running, call('ZCOUNT', READY, '-inf', now), running, call('ZCARD', DEAD), bytes,
      oldest and math.max(now - oldest, 0) or -1, blocking, blocked_for, paused_until > now and paused_until or -1, call('HGETALL', STATE),
    }
  end
end
