-- Limits of joins: how many sessions join from one address, from one network, and in the whole queue. See
-- vestibule_core::line::limits.
--
-- The counters are a count-min sketch in JOIN_COUNTERS: two windows of two rows of 16-bit cells. The cell of a row of a window is at
-- (half * 2 + row) * counters + cell, where half is the window modulo 2. Behind it are histograms in 32-bit cells, by address and by
-- network for each half. NETWORKS is a sorted set of the largest networks: half and prefix -> joins in the window, plus
-- half * LIMITS.HALF_SCORE.
--
-- Functions and state are fields of one table (in queue.lua), and constants of another, since a chunk has at most 200 local variables.

-- Begins a visit: no limit has rejected it, and nothing is proven.
function limits.begin_visit(clients, index)
  limits.clients, limits.index, limits.rejection = clients, index, nil
  limits.work, limits.joined_late = nil, false
end

-- Reads the client of the visit. Only joins need it, and most visits of a batch are polls.
function limits.read_client()
  local flags, address_0, address_1, network_0, network_1, prefix =
    struct.unpack(LIMITS.CLIENT_FORMAT, limits.clients, limits.index * LIMITS.CLIENT_SIZE + 1)
  return {
    address_0, address_1, network_0, network_1, prefix = prefix,
    has_address = flags % 2 == LIMITS.HAS_ADDRESS, extra_hops = flags % 4 >= LIMITS.EXTRA_HOPS,
    has_network = flags % 8 >= LIMITS.HAS_NETWORK, class = math.floor(flags / LIMITS.CLASS_UNIT),
  }
end

-- The record of joins: window, cells per row of JOIN_COUNTERS (0 if there are none), then for each half the joins, joins without a usable
-- address, networks and those of them with extra hops; then slot, rejections by the rate in this slot and the one before, joins in
-- this slot and the one before, the joins in the window of the largest network that is not listed, and delayed joins in this slot and
-- the one before.
-- Read once per call and written at its end, since visits of a batch share it.
function limits.read()
  if limits.record then return limits.record end
  local record = {}
  for number in string.gmatch(call('HGET', STATE, 'joins') or '', '%d+') do record[#record + 1] = tonumber(number) end
  for i = #record + 1, LIMITS.RECORD_SIZE do record[i] = 0 end
  limits.record = record
  return record
end

-- Writes the record of joins at the end of a call that changed it.
function limits.save()
  if not limits.changed then return end
  limits.changed = false
  call('HSET', STATE, 'joins', string.format(LIMITS.RECORD_FORMAT, unpack(limits.record)))
end

-- The scores of the networks of one half.
local function scores_of(half)
  return half * LIMITS.HALF_SCORE, (half + 1) * LIMITS.HALF_SCORE - 1
end

-- Seconds until the networks of this window are old: at the end of the next one.
local function networks_ttl(window)
  return math.ceil((window + 2) * LIMITS.JOIN_WINDOW - now / SECOND)
end

-- Clears the totals and the networks of one half.
local function clear_half(record, half)
  for i = 3 + 4 * half, 6 + 4 * half do record[i] = 0 end
  call('ZREMRANGEBYSCORE', NETWORKS, scores_of(half))
end

-- Continues in the window of now: clears what is too old.
function limits.advance(record)
  local window = math.floor(now / (LIMITS.JOIN_WINDOW * SECOND))
  if record[1] == window then return end
  local half, counters = window % 2, record[2]
  clear_half(record, half)
  if record[1] + 1 == window then
    if counters > 0 then
      call('SETRANGE', JOIN_COUNTERS, half * 4 * counters, string.rep('\0', 4 * counters))
      call('SETRANGE', JOIN_COUNTERS, 8 * counters + half * LIMITS.HISTOGRAMS_SIZE, string.rep('\0', LIMITS.HISTOGRAMS_SIZE))
      call('EXPIRE', JOIN_COUNTERS, LIMITS.JOINS_TTL)
    end
    call('EXPIRE', NETWORKS, networks_ttl(window))
  else
    clear_half(record, 1 - half)
    if counters > 0 then call('UNLINK', JOIN_COUNTERS) end
    record[2] = 0
  end
  record[1], record[LIMITS.FLOOR] = window, 0
end

-- Notes the events so far in the field events_since if a window has begun: the window, the events when it began, and those when the
-- window before it began. Nothing else counts them by window.
function limits.advance_events()
  local window = math.floor(now / (LIMITS.JOIN_WINDOW * SECOND))
  if limits.events_window == window then return end
  local counts = call('HMGET', STATE, unpack(LIMITS.EVENTS))
  local current = {}
  for i = 1, #LIMITS.EVENTS do current[i] = counts[i] or '0' end
  current = table.concat(current, ' ')
  local previous = current
  if limits.events_window + 1 == window then
    previous = string.match(call('HGET', STATE, 'events_since') or '', '^([^,]*),') or current
  end
  limits.events_window = window
  call('HSET', STATE, 'events_window', window, 'events_since', current .. ',' .. previous)
end

-- The arguments of two BITFIELD commands, whose offsets are replaced for each join: to read the cells of a client, in the order of kind
-- (address and network), half and row, and to add a join to four of them and to a cell of each histogram.
local gets, adds = {}, { 'OVERFLOW', 'SAT' }
for i = 1, 8 do gets[3 * i - 2], gets[3 * i - 1], gets[3 * i] = 'GET', 'u16', '#0' end
for i = 1, 6 do
  local from = 4 * i - 1
  adds[from], adds[from + 1], adds[from + 2], adds[from + 3] = 'INCRBY', i <= 4 and 'u16' or 'u32', '#0', '1'
end

-- The offset of a cell in one of these commands. To let Lua turn the number into text takes twice the time, as if it were a fraction.
local function offset_of(cell)
  return string.format('#%d', cell)
end

-- The joins of the address and of the network of a client in both windows, and of the network in this one, this join included.
-- Makes the key by one SET: to grow it by BITFIELD takes twice the memory.
function limits.estimates(record, client, counters)
  if record[2] ~= counters then
    call('SET', JOIN_COUNTERS, string.rep('\0', 8 * counters + 2 * LIMITS.HISTOGRAMS_SIZE), 'EX', LIMITS.JOINS_TTL)
    record[2] = counters
  end
  for i = 0, 7 do
    local kind, half, row = i < 4 and 0 or 1, i % 4 < 2 and 0 or 1, i % 2
    gets[3 * i + 3] = offset_of((half * 2 + row) * counters + client[kind * 2 + row + 1] % counters)
  end
  local found = call('BITFIELD', JOIN_COUNTERS, unpack(gets))
  local network_in = { math.min(found[5], found[6]), math.min(found[7], found[8]) }
  local address = math.min(found[1], found[2]) + math.min(found[3], found[4]) + 1
  return address, network_in[1] + network_in[2] + 1, network_in[1 + record[1] % 2] + 1
end

-- The offset of the cell of a histogram for a join that is the count-th one; kind is 0 for addresses and 1 for networks.
local function histogram_cell(record, kind, joins)
  local _, exponent = math.frexp(joins)
  local cell = math.min(exponent - 1, LIMITS.HISTOGRAM_CELLS - 1)
  return offset_of(2 * record[2] + (record[1] % 2 * 2 + kind) * LIMITS.HISTOGRAM_CELLS + cell)
end

-- Adds a join to the cells whose estimates were read last. Limits count it as the address-th of its address and the network-th of
-- its network.
function limits.add(record, address, network)
  local half = record[1] % 2
  for kind = 0, 1 do
    for row = 0, 1 do adds[8 * kind + 4 * row + 5] = gets[3 * (4 * kind + 2 * half + row) + 3] end
  end
  adds[21], adds[25] = histogram_cell(record, 0, address), histogram_cell(record, 1, network)
  call('BITFIELD', JOIN_COUNTERS, unpack(adds))
end

-- Lists a network with its joins in this window, if it is among the largest. O(log LARGEST_NETWORKS_MAX).
function limits.list_network(record, prefix, joins)
  if joins < LIMITS.LARGEST_NETWORKS_FROM or joins <= record[LIMITS.FLOOR] then return end
  local half = record[1] % 2
  local least, most = scores_of(half)
  if call('ZADD', NETWORKS, least + joins, half .. prefix) == 0 then return end
  local listed = call('ZCOUNT', NETWORKS, least, most)
  if listed == 1 then call('EXPIRE', NETWORKS, networks_ttl(record[1])) end
  if listed > LIMITS.LARGEST_NETWORKS_MAX then
    local last = call('ZRANGE', NETWORKS, least, most, 'BYSCORE', 'LIMIT', 0, 2, 'WITHSCORES')
    call('ZREM', NETWORKS, last[1])
    record[LIMITS.FLOOR] = last[4] - least
  end
end

-- Whether the totals of both windows say that limits by address and network apply.
local function limits_apply(record)
  local joins, networks, extra_hops = record[3] + record[7], record[5] + record[9], record[6] + record[10]
  local without_address = record[4] + record[8]
  return joins >= LIMITS.ADDRESS_LIMITS_FROM and (without_address * 2 > joins or extra_hops * 2 <= networks)
end

-- Forgets the networks.
function limits.forget_networks()
  call('UNLINK', NETWORKS)
  local record = limits.read()
  if record[LIMITS.FLOOR] > 0 then
    record[LIMITS.FLOOR], limits.changed = 0, true
    limits.save()
  end
end

-- Continues in the slot of now with all events of the last seconds.
local function advance_recent(record)
  local slot = math.floor(now / (LIMITS.JOIN_SLOT * SECOND))
  if record[11] ~= slot then
    local follows = record[11] + 1 == slot
    for field = 12, 14, 2 do record[field + 1] = follows and record[field] or 0 end
    record[LIMITS.DELAYED + 1] = follows and record[LIMITS.DELAYED] or 0
    record[11], record[12], record[14], record[LIMITS.DELAYED] = slot, 0, 0, 0
  end
end

-- Counts a rejection by the rate (field 12 of the record), a join (field 14) or a delayed join; returns how many there were in the
-- last 10 to 20 seconds.
local function count_recent(record, field)
  record[field] = record[field] + 1
  return record[field] + record[field + 1]
end

-- Events of the last 10 seconds, as if those of the slot before were even.
local function recent_events(record, field)
  local length = LIMITS.JOIN_SLOT * SECOND
  return record[field] + record[field + 1] * ((length - now % length) / length)
end

-- What the newcomer of this visit has proven: the difficulty, and what was required last (-1 if nothing was).
function limits.read_work(first_visit, proven, required)
  limits.work = { proven = proven, required = required }
  if required >= 0 then
    limits.work.delayed_from = first_visit + math.min(LIMITS.DELAY_PER_DIFFICULTY * required, LIMITS.DELAY_MAX) * SECOND
  end
end

-- The difficulty of a join: 0 if it needs no proof of work.
local function difficulty(proof_of_work, class, address, network, per_second)
  local attack_mode = limits.attack_mode()
  local mode = attack_mode and 'always' or proof_of_work.mode
  if mode == 'off' or class == LIMITS.CLASS_TRUSTED then return 0 end
  local part = class == LIMITS.CLASS_SHARED and LIMITS.SHARED_PART or 1
  local base = math.max(address / part / LIMITS.ADDRESS_SHARE, network / part / LIMITS.NETWORK_SHARE)
  base = math.min(math.max(base, 1), LIMITS.BASE_MAX)
  local rate = math.min(math.max(math.sqrt(per_second / proof_of_work.from), 1), LIMITS.RATE_FACTOR_MAX)
  local suspicious = class == LIMITS.CLASS_SUSPICIOUS
  if mode == 'auto' and base <= 1 and rate <= 1 and not suspicious then return 0 end
  local product = math.ceil(base * rate) * (attack_mode and LIMITS.ATTACK_FACTOR or 1)
  return math.min(math.max(product, suspicious and LIMITS.SUSPICIOUS_MIN or 1), LIMITS.DIFFICULTY_MAX)
end

-- Whether a join that no limit rejects needs a proof of this difficulty: the reason and the difficulty, or nil. Counts what happens.
local function check_work(record, enforced, needed, is_delayed)
  if not enforced then
    count('would_challenge', 1)
    return
  end
  local most = math.max(recent_events(record, 14) / LIMITS.DELAYED_SHARE, LIMITS.DELAYED_MIN)
  if is_delayed and recent_events(record, LIMITS.DELAYED) + 1 <= most then
    count_recent(record, LIMITS.DELAYED)
    count('delayed_joins', 1)
    limits.joined_late = true
    return
  end
  -- Who asks again is counted once.
  local required = limits.work and limits.work.required or -1
  if required < needed then count('challenged', 1) end
  return LIMITS.NEEDS_PROOF, needed
end

-- The content of the bucket of joins_per_second now. A bucket is filled by a rate per minute.
local function join_credit(rate)
  local credit, at = buckets.read(call('HGET', STATE, 'join_bucket'))
  return (buckets.refill(credit, math.min(at, now), rate * 60, nil, now))
end

local function save_join_credit(credit)
  call('HSET', STATE, 'join_bucket', buckets.text(credit, now))
end

function limits.reject(reason, name, retry_after)
  count('rejected:' .. name, 1)
  return reason, retry_after
end

-- Whether the queue is in attack mode.
function limits.attack_mode()
  return now < attack_until
end

-- Whether joins are counted and limited now: off, monitor or enforce.
function limits.mode()
  return limits.attack_mode() and 'enforce' or rules.protection.mode
end

-- A limit by address or network as it applies now; nil if there is none.
local function in_force(limit)
  if limit and limits.attack_mode() then return math.max(math.floor(limit / LIMITS.ATTACK_LIMIT_PART), 1) end
  return limit
end

-- Whether a newcomer from a blocked network is rejected, in attack mode also one from a suspicious network: the reason and
-- seconds, or nil.
function limits.check_blocked(client)
  local blocked = client.class == LIMITS.CLASS_BLOCKED and limits.mode() == 'enforce'
  if blocked or client.class == LIMITS.CLASS_SUSPICIOUS and limits.attack_mode() then
    return limits.reject(LIMITS.REJECTED_BLOCKED, 'blocked', LIMITS.BLOCKED_RETRY)
  end
end

-- Counts a join, unless a limit rejects it or it needs a proof of work: the reason, and seconds or the difficulty, or nil. `invited`
-- newcomers need none: an invitation names its session.
function limits.check(client, invited)
  local protection, mode = rules.protection, limits.mode()
  if mode == 'off' then return end
  local enforced = mode == 'enforce'
  local record, rate, credit = limits.read(), enforced and protection.joins_per_second, nil
  limits.changed = true
  advance_recent(record)
  if rate then
    credit = join_credit(rate)
    if credit < ADMISSION_COST then
      save_join_credit(credit)
      local recent = count_recent(record, 12)
      return limits.reject(LIMITS.REJECTED_RATE, 'rate', math.min(math.max(math.ceil(recent / rate), 1), LIMITS.RATE_RETRY_MAX))
    end
  end
  limits.advance(record)
  local applies = limits_apply(record) and client.class ~= LIMITS.CLASS_TRUSTED
  local address, network, network_in_window = 0, 0, 0
  if client.has_address then
    address, network, network_in_window = limits.estimates(record, client, protection.counters)
  end
  local needed = difficulty(protection.proof_of_work, client.class, applies and address or 0, applies and network or 0,
    recent_events(record, 14) / LIMITS.JOIN_SLOT)
  local work = limits.work
  local is_missing = not invited and needed > (work and work.proven or 0)
  local is_delayed = is_missing and work and work.delayed_from and work.delayed_from <= now
  if client.class == LIMITS.CLASS_SHARED then
    address, network = math.ceil(address / LIMITS.SHARED_PART), math.ceil(network / LIMITS.SHARED_PART)
  elseif client.class == LIMITS.CLASS_TRUSTED then
    address, network = 1, 1
  end
  local per_address, per_network = in_force(protection.per_address), in_force(protection.per_network)
  local over_address = applies and per_address and address > per_address
  local over_network = applies and per_network and network > per_network
  if over_address then count('over_limit:address', 1) end
  if over_network then count('over_limit:network', 1) end
  local reason, value
  if enforced and (protection.on_exceed == 'reject' or is_delayed) and (over_address or over_network) then
    local window = LIMITS.JOIN_WINDOW * SECOND
    reason, value = limits.reject(LIMITS.REJECTED_LIMIT, 'limit', math.ceil((window - now % window) / SECOND))
  elseif is_missing then
    reason, value = check_work(record, enforced, needed, is_delayed)
  end
  if reason then
    if credit then save_join_credit(credit) end
    return reason, value
  end
  if credit then save_join_credit(credit - ADMISSION_COST) end
  count_recent(record, 14)
  local totals = 3 + 4 * (record[1] % 2)
  record[totals] = record[totals] + 1
  if not client.has_address then
    record[totals + 1] = record[totals + 1] + 1
  else
    if network_in_window == 1 then
      record[totals + 2] = record[totals + 2] + 1
      if client.extra_hops then record[totals + 3] = record[totals + 3] + 1 end
    end
    limits.add(record, address, network)
    if client.has_network and protection.show_networks then
      limits.list_network(record, client.prefix, network_in_window)
    end
  end
end
