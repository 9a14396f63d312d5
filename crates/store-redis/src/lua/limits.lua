-- Limits of joins: how many sessions join from one address, from one network, and in the whole queue. See
-- vestibule_core::line::limits.
--
-- The counters are a count-min sketch in JOIN_COUNTERS: two windows of two rows of 16-bit cells. The cell of a row of a window is at
-- (half * 2 + row) * counters + cell, where half is the window modulo 2.
--
-- Functions and state are fields of one table, and constants of another, since a chunk has at most 200 local variables.
local limits = {}

-- Reads the client of a visit.
function limits.read_client(clients, index)
  local flags, address_0, address_1, network_0, network_1 =
    struct.unpack(LIMITS.CLIENT_FORMAT, clients, index * LIMITS.CLIENT_SIZE + 1)
  limits.client = {
    address_0, address_1, network_0, network_1,
    has_address = flags % 2 == LIMITS.HAS_ADDRESS, extra_hops = flags % 4 >= LIMITS.EXTRA_HOPS, class = math.floor(flags / LIMITS.CLASS_UNIT),
  }
  limits.rejection = nil
end

-- The record of joins: window, cells per row of JOIN_COUNTERS (0 if there are none), then for each half the joins, joins without a usable
-- address, networks and those of them with extra hops; then slot, and rejections by the rate in this slot and the one before.
function limits.read()
  local record = {}
  for number in string.gmatch(call('HGET', STATE, 'joins') or '', '%d+') do record[#record + 1] = tonumber(number) end
  for i = #record + 1, 13 do record[i] = 0 end
  return record
end

function limits.save(record)
  call('HSET', STATE, 'joins', string.format('%d %d %d %d %d %d %d %d %d %d %d %d %d', unpack(record)))
end

-- Clears the totals of one half.
local function clear_half(record, half)
  for i = 3 + 4 * half, 6 + 4 * half do record[i] = 0 end
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
      call('EXPIRE', JOIN_COUNTERS, LIMITS.JOINS_TTL)
    end
  else
    clear_half(record, 1 - half)
    if counters > 0 then call('UNLINK', JOIN_COUNTERS) end
    record[2] = 0
  end
  record[1] = window
end

-- The joins of the address and of the network of a client in both windows, this one included, and whether the network joins for
-- the first time in this window. Makes the key by one SET: to grow it by BITFIELD takes twice the memory.
function limits.estimates(record, client, counters)
  if record[2] ~= counters then
    call('SET', JOIN_COUNTERS, string.rep('\0', 8 * counters), 'EX', LIMITS.JOINS_TTL)
    record[2] = counters
  end
  local gets = {}
  for kind = 0, 1 do
    for half = 0, 1 do
      for row = 0, 1 do
        gets[#gets + 1] = 'GET'
        gets[#gets + 1] = 'u16'
        gets[#gets + 1] = string.format('#%d', (half * 2 + row) * counters + client[kind * 2 + row + 1] % counters)
      end
    end
  end
  local found = call('BITFIELD', JOIN_COUNTERS, unpack(gets))
  local joins = {}
  for i = 1, 7, 2 do joins[#joins + 1] = math.min(found[i], found[i + 1]) end
  return joins[1] + joins[2] + 1, joins[3] + joins[4] + 1, joins[3 + record[1] % 2] == 0
end

-- Adds a join to the cells of its address and network.
function limits.add(record, client)
  local half, counters = record[1] % 2, record[2]
  local adds = {}
  for i = 1, 4 do
    local row = (i - 1) % 2
    adds[#adds + 1] = 'INCRBY'
    adds[#adds + 1] = 'u16'
    adds[#adds + 1] = string.format('#%d', (half * 2 + row) * counters + client[i] % counters)
    adds[#adds + 1] = 1
  end
  call('BITFIELD', JOIN_COUNTERS, 'OVERFLOW', 'SAT', unpack(adds))
end

-- Whether the totals of both windows say that limits by address and network apply.
local function limits_apply(record)
  local joins, networks, extra_hops = record[3] + record[7], record[5] + record[9], record[6] + record[10]
  local without_address = record[4] + record[8]
  return joins >= LIMITS.JUDGED_FROM and (without_address * 2 > joins or extra_hops * 2 <= networks)
end

-- Counts a rejection by the rate; returns how many there were in the last 10 to 20 seconds.
local function count_rejection(record)
  local slot = math.floor(now / (LIMITS.JOIN_SLOT * SECOND))
  if record[11] ~= slot then
    record[13] = record[11] + 1 == slot and record[12] or 0
    record[11], record[12] = slot, 0
  end
  record[12] = record[12] + 1
  return record[12] + record[13]
end

-- The content of the bucket of joins_per_second now; see read_bucket.
local function join_credit(rate)
  local credit, at = string.match(call('HGET', STATE, 'join_bucket') or '0 0', '(%d+) (%d+)')
  credit, at = tonumber(credit), math.min(tonumber(at), now)
  local elapsed = math.min(now - at, ELAPSED_MAX * SECOND)
  return math.min(credit + elapsed * rate * 60, math.max(rate * 60 * SECOND, ADMISSION_COST))
end

local function save_join_credit(credit)
  call('HSET', STATE, 'join_bucket', string.format('%d %d', credit, now))
end

function limits.reject(reason, name, retry_after)
  count('rejected:' .. name, 1)
  return reason, retry_after
end

-- The protection of the queue; a field that is not set means no limit.
function limits.protection()
  return rules.protection or DEFAULT_PROTECTION
end

-- Whether a newcomer from a blocked network is rejected: the reason and seconds, or nil.
function limits.check_blocked(client)
  if limits.protection().mode == 'enforce' and client.class == LIMITS.CLASS_BLOCKED then
    return limits.reject(LIMITS.REJECTED_BLOCKED, 'blocked', LIMITS.BLOCKED_RETRY)
  end
end

-- Counts a join, unless a limit rejects it: the reason and seconds, or nil.
function limits.check(client)
  local protection = limits.protection()
  local mode = protection.mode or 'monitor'
  if mode == 'off' then return end
  local enforced = mode == 'enforce'
  local record, rate, credit = limits.read(), enforced and protection.joins_per_second, nil
  if rate then
    credit = join_credit(rate)
    if credit < ADMISSION_COST then
      save_join_credit(credit)
      local recent = count_rejection(record)
      limits.save(record)
      return limits.reject(LIMITS.REJECTED_RATE, 'rate', math.min(math.max(math.ceil(recent / rate), 1), LIMITS.RATE_RETRY_MAX))
    end
  end
  limits.advance(record)
  local applies = limits_apply(record) and client.class ~= LIMITS.CLASS_TRUSTED
  local address, network, is_new_network
  if client.has_address then
    address, network, is_new_network = limits.estimates(record, client, protection.counters or LIMITS.DEFAULT_COUNTERS)
    local part = client.class == LIMITS.CLASS_SHARED and LIMITS.SHARED_PART or 1
    local over_address = applies and protection.per_address and address > protection.per_address * part
    local over_network = applies and protection.per_network and network > protection.per_network * part
    if over_address then count('over_limit:address', 1) end
    if over_network then count('over_limit:network', 1) end
    if enforced and protection.on_exceed == 'reject' and (over_address or over_network) then
      limits.save(record)
      if credit then save_join_credit(credit) end
      local window = LIMITS.JOIN_WINDOW * SECOND
      return limits.reject(LIMITS.REJECTED_LIMIT, 'limit', math.ceil((window - now % window) / SECOND))
    end
  end
  if credit then save_join_credit(credit - ADMISSION_COST) end
  local totals = 3 + 4 * (record[1] % 2)
  record[totals] = record[totals] + 1
  if not client.has_address then
    record[totals + 1] = record[totals + 1] + 1
  else
    if is_new_network then
      record[totals + 2] = record[totals + 2] + 1
      if client.extra_hops then record[totals + 3] = record[totals + 3] + 1 end
    end
    limits.add(record, client)
  end
  limits.save(record)
end
