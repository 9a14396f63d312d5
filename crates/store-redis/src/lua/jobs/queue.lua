-- Shared by the operations of a job queue: the state of the call, and the rules of job queues.
--
-- KEYS[1..9] of every operation: ready, groups, leased, unfinished, completed, dead, jobs, payloads, state.
-- ARGV[1] is the time in microseconds since 1970 if a test sets the clock, otherwise '' for the server's time. ARGV[2] are the
-- settings, packed as a map of fields.
--
-- A turn is a job in a set: its sequence number, 8 bytes big-endian, and its ID. Turns of one instant are in the order of
-- acceptance (J4). A record is what `jobs` has of a job; the payload is beside it, so that it is written once.
--
-- The table `jobs` is prepended by Rust, with limits and codes.
do
  local READY, GROUPS, LEASED, UNFINISHED, COMPLETED, DEAD, RECORDS, PAYLOADS, STATE
  local now, settings
  -- Cache of the settings decoded last: they rarely differ between calls.
  local decoded_text, decoded
  -- Of the state, and as it was before the operation.
  local sequence, bytes, credit, credit_at, paused_until
  local before
  -- Events that the operation counts.
  local counts
  -- Jobs that this operation has accepted, and the number of stored jobs.
  local accepted, stored
  -- Records that were read or written in this operation, packed; false for one that does not exist.
  local records
  -- Commands that change many entries of a key at once, by command and key and in order.
  local deferred

  local function state_text()
    return string.format('%d %d %s %d', sequence, bytes, buckets.text(credit, credit_at), paused_until)
  end

  local function count(event)
    counts[event] = (counts[event] or 0) + 1
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

  -- Executes the deferred commands.
  local function flush()
    if not deferred[1] then return end
    for _, command in ipairs(deferred) do call(unpack(command)) end
    deferred = {}
  end

  -- Adds an entry to a command that is executed at the end of a step: one command for all jobs of a call takes half the time.
  -- Nothing may read before then what it changes.
  local function defer(name, key, first, second)
    local command = deferred[name .. key]
    if not command then
      command = { name, key }
      deferred[name .. key], deferred[#deferred + 1] = command, command
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

  local function write(id, record)
    records[id] = cmsgpack.pack(record)
    defer('HSET', RECORDS, id, records[id])
  end

  -- The lowest score of a set as a number; nil if the set is empty. O(1).
  local function first_score(set)
    return tonumber(call('ZRANGE', set, 0, 0, 'WITHSCORES')[2])
  end

  -- Up to `most` turns whose instant was at least so many seconds ago, the oldest first.
  local function older(set, seconds, most)
    return call('ZRANGE', set, '-inf', now - seconds * SECOND, 'BYSCORE', 'LIMIT', 0, most)
  end

  -- J5: the first unfinished jobs of a group, as members of the set. O(log n).
  local function first_of_group(group, most)
    return call('ZRANGE', GROUPS, '[' .. group .. '\0', '(' .. group .. '\1', 'BYLEX', 'LIMIT', 0, most)
  end

  -- J5: the next job of the group can start. Groups take turns: it is due from now on, however long it has waited.
  local function leave_group(group, turn)
    local member = group .. '\0' .. turn
    local first = first_of_group(group, 2)
    call('ZREM', GROUPS, member)
    if first[1] == member and first[2] then
      call('ZADD', READY, now, string.sub(first[2], #group + 2))
    end
  end

  -- Ends a job that is neither leased nor ready any more: completed, or a dead letter for a reason. Returns its state.
  local function finish(id, record, turn, reason)
    defer('ZREM', UNFINISHED, turn)
    record.since, record.ended_at, record.reason = nil, now, reason
    if reason then
      count('dead')
      defer('ZADD', DEAD, now, turn)
    else
      bytes = bytes - record.size
      record.size, record.content_type, record.response = nil, nil, nil
      defer('HDEL', PAYLOADS, id)
      defer('ZADD', COMPLETED, now, turn)
    end
    write(id, record)
    if record.group then leave_group(record.group, turn) end
    return reason and 'failed' or 'completed'
  end

  -- J6: puts a job back whose lease has ended. It is still the first of its group.
  local function wait(id, record, turn, due)
    record.since = nil
    if now >= record.enqueued_at + settings.retention * SECOND then return finish(id, record, turn, 'expired') end
    defer('ZADD', READY, due, turn)
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

  function outcomes.acknowledged(id, record, turn, details)
    keep_attempt(record, nil, details.status)
    count('acknowledged')
    return finish(id, record, turn)
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

  function outcomes.failed(id, record, turn, details, response)
    keep_attempt(record, details.reason, details.status)
    record.response = string.sub(response, 1, jobs.RESPONSE_KEPT)
    record.failed_attempts = (record.failed_attempts or 0) + 1
    count('failed')
    if details.is_final or record.failed_attempts >= settings.max_attempts then
      return finish(id, record, turn, details.reason)
    end
    return wait(id, record, turn, now + backoff(id, record.failed_attempts))
  end

  -- Ends a lease. Returns the state of the job.
  local function end_lease(id, record, turn, details, response)
    local outcome = outcomes[details.outcome]
    if not outcome then error('unknown outcome: ' .. tostring(details.outcome)) end
    defer('ZREM', LEASED, turn)
    return outcome(id, record, turn, details, response)
  end

  -- Removes a finished job.
  local function forget(set, turn)
    local id = id_of(turn)
    bytes = bytes - (unpack_record(read(id)).size or 0)
    records[id] = false
    defer('ZREM', set, turn)
    defer('HDEL', RECORDS, id)
    defer('HDEL', PAYLOADS, id)
  end

  -- J16: up to a batch of waiting jobs that are too old. A leased one is checked when its lease ends.
  local function expired()
    local turns, found = older(UNFINISHED, settings.retention, jobs.REAP_BATCH + call('ZCARD', LEASED)), {}
    if #turns == 0 then return found end
    for i, lease in ipairs(call('ZMSCORE', LEASED, unpack(turns))) do
      if not lease and #found < jobs.REAP_BATCH then found[#found + 1] = turns[i] end
    end
    return found
  end

  -- Removes up to a batch of everything that has expired. O(log n) each.
  local function reap()
    for _, turn in ipairs(older(LEASED, 0, jobs.REAP_BATCH)) do
      local id = id_of(turn)
      local details = { outcome = 'failed', reason = 'lease_expired' }
      end_lease(id, unpack_record(read(id)), turn, details, '')
    end
    flush()
    for _, turn in ipairs(expired()) do
      local id = id_of(turn)
      call('ZREM', READY, turn)
      finish(id, unpack_record(read(id)), turn, 'expired')
    end
    flush()
    local completed = older(COMPLETED, settings.result_ttl, jobs.REAP_BATCH)
    local dead = older(DEAD, settings.dead_letter_retention, jobs.REAP_BATCH)
    for _, turn in ipairs(completed) do forget(COMPLETED, turn) end
    for _, turn in ipairs(dead) do forget(DEAD, turn) end
    flush()
  end

  -- Begins an operation.
  function jobs.begin(keys, args)
    begin_clock(args)
    now = clock
    READY, GROUPS, LEASED, UNFINISHED, COMPLETED, DEAD, RECORDS, PAYLOADS, STATE = unpack(keys, 1, 9)
    if args[2] ~= decoded_text then
      decoded_text, decoded = args[2], cmsgpack.unpack(args[2])
    end
    settings = decoded
    local state = call('HMGET', STATE, 'sequence', 'bytes', 'rate_bucket', 'paused_until')
    sequence, bytes, paused_until = tonumber(state[1]) or 0, tonumber(state[2]) or 0, tonumber(state[4]) or 0
    credit, credit_at = buckets.read(state[3])
    before, counts, accepted, stored, records, deferred = state_text(), {}, {}, nil, {}, {}
    reap()
  end

  -- Writes what the operation changed of the state.
  local function save()
    flush()
    if state_text() ~= before then
      local bucket = buckets.text(credit, credit_at)
      call('HSET', STATE, 'sequence', sequence, 'bytes', bytes, 'rate_bucket', bucket, 'paused_until', paused_until)
    end
    for event, times in pairs(counts) do call('HINCRBY', STATE, event, times) end
  end

  -- Ends an operation and returns its reply.
  function jobs.reply(reply)
    save()
    return reply
  end

  -- J7: the first job with this key, if it was accepted within the interval.
  local function first_with(key)
    local stored = call('GET', key)
    if not stored then return nil end
    local at = tonumber(string.sub(stored, jobs.ID_SIZE + 1))
    if now < at + settings.deduplication_interval * SECOND then return string.sub(stored, 1, jobs.ID_SIZE) end
  end

  -- J2: whether this job is known because this very call was sent before and its reply was lost.
  local function is_repeated(packed, id, token)
    return packed and not accepted[id] and cmsgpack.unpack(packed).token == token
  end

  -- Enqueues a job. `new` has the fields of its record that the producer decides, and its delay. Returns ACCEPTED, FULL, or the
  -- ID of the job that it duplicates.
  function jobs.enqueue(id, new, payload, key, token)
    local first = key and first_with(key)
    if not first or first == id then
      local packed = read(id)
      if is_repeated(packed, id, token) then
        accepted[id] = true
        return jobs.ACCEPTED
      end
      first = first or packed and id
    end
    if first then
      count('duplicate')
      return first
    end
    local size = #payload
    stored = stored or call('ZCARD', UNFINISHED) + call('ZCARD', DEAD)
    if stored >= settings.max_jobs or bytes + size > settings.max_bytes then return jobs.FULL end
    sequence, stored = sequence + 1, stored + 1
    bytes = bytes + size
    accepted[id] = true
    local due = now + (new.delay_seconds or 0) * SECOND
    local record = {
      sequence = sequence, enqueued_at = now, token = token, size = size, content_type = new.content_type, group = new.group,
      user_id = new.user_id, due = due ~= now and due or nil,
    }
    if key and settings.deduplication_interval > 0 then
      local ttl = string.format('%d', settings.deduplication_interval * 1000)
      call('SET', key, id .. string.format('%d', now), 'PX', ttl)
    end
    count('enqueued')
    local turn = turn_of(id, record)
    defer('ZADD', UNFINISHED, now, turn)
    local is_first = true
    if record.group then
      is_first = not first_of_group(record.group, 1)[1]
      call('ZADD', GROUPS, 0, record.group .. '\0' .. turn)
    end
    if is_first then defer('ZADD', READY, due, turn) end
    write(id, record)
    defer('HSET', PAYLOADS, id, payload)
    return jobs.ACCEPTED
  end

  -- J8: the turns that can start, the one that has been due longest first. Pays for them.
  local function take_turns(max)
    local most = math.min(max, jobs.BATCH, settings.concurrency - call('ZCARD', LEASED))
    if most <= 0 or settings.paused or paused_until > 0 then return {} end
    local turns = older(READY, 0, most)
    local rate = settings.dispatches_per_minute
    if #turns == 0 or not rate then return turns end
    credit, credit_at = buckets.refill(credit, math.min(credit_at, now), rate, nil, now)
    local starts = math.min(#turns, math.floor(credit / ADMISSION_COST))
    credit = credit - starts * ADMISSION_COST
    return { unpack(turns, 1, starts) }
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

  -- Leases up to `max` jobs that are due. Returns when the next one can start, and of each job ID, record and payload.
  function jobs.receive(max)
    if paused_until <= now then paused_until = 0 end
    local turns, reply = take_turns(max), {}
    if turns[1] then
      local ids, leases, changed = {}, {}, {}
      for i, turn in ipairs(turns) do
        ids[i] = id_of(turn)
        leases[2 * i - 1], leases[2 * i] = now + jobs.LEASE * SECOND, turn
      end
      local records, payloads = call('HMGET', RECORDS, unpack(ids)), call('HMGET', PAYLOADS, unpack(ids))
      for i, id in ipairs(ids) do
        local record = unpack_record(records[i])
        record.since, record.receive_count = now, (record.receive_count or 0) + 1
        changed[2 * i - 1], changed[2 * i] = id, cmsgpack.pack(record)
        reply[3 * i - 1], reply[3 * i], reply[3 * i + 1] = id, changed[2 * i], payloads[i]
      end
      call('ZREM', READY, unpack(turns))
      call('ZADD', LEASED, unpack(leases))
      call('HSET', RECORDS, unpack(changed))
    end
    local due = next_due()
    reply[1] = due == math.huge and -1 or due
    return reply
  end

  -- J9: the record of a current lease; nil for others, which are counted.
  local function current(id, receive_count)
    local packed = read(id)
    local record = packed and cmsgpack.unpack(packed)
    if record and record.since and record.receive_count == receive_count then return record end
    count('refused')
  end

  -- J9: extends a lease from now on, and never shortens it. Returns 1 if it is current, else 0.
  function jobs.extend(id, receive_count)
    local record = current(id, receive_count)
    if not record then return 0 end
    call('ZADD', LEASED, 'GT', now + jobs.LEASE * SECOND, turn_of(id, record))
    return 1
  end

  -- Ends a lease. Returns the state of the job, or '' for a lease that is not current.
  function jobs.settle(id, details, response)
    local record = current(id, details.receive_count)
    if not record then return '' end
    return end_lease(id, record, turn_of(id, record), details, response)
  end

  -- Returns the state of a job, when it is due or -1, its record, the last response that reported a failure, and its payload;
  -- nothing if there is no such job.
  function jobs.get(id)
    local packed = call('HGET', RECORDS, id)
    if not packed then return {} end
    local record = cmsgpack.unpack(packed)
    local state, due = nil, -1
    if record.ended_at then
      state = record.reason and 'failed' or 'completed'
    elseif record.since then
      state = 'running'
    else
      state = record.failed_attempts and 'retrying' or 'queued'
      -- A job that waits for its group is not ready.
      due = tonumber(call('ZSCORE', READY, turn_of(id, record))) or record.due or record.enqueued_at
    end
    return { state, due, packed, record.response or '', call('HGET', PAYLOADS, id) or '' }
  end

  -- Returns the numbers of waiting jobs, running jobs and dead letters, the size of all payloads, microseconds since the oldest
  -- unfinished job was accepted or -1, when a pause ends or -1, and the fields of the state, which include the counters.
  function jobs.stats()
    save()
    local running, oldest = call('ZCARD', LEASED), first_score(UNFINISHED)
    return {
      call('ZCARD', UNFINISHED) - running, running, call('ZCARD', DEAD), bytes, oldest and math.max(now - oldest, 0) or -1,
      paused_until > now and paused_until or -1, call('HGETALL', STATE),
    }
  end
end
