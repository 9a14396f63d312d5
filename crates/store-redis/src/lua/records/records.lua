-- Shared by the operations on documents, logs and ephemeral keys. KEYS[1] is the only key of the
-- operation; ARGV[1] is the time, as in every operation.
local KEY
local function begin_record(keys, args)
  begin_clock(args)
  KEY = keys[1]
end

-- The text and expiry of the ephemeral key; nothing if it does not exist. The value is the expiry
-- in microseconds, a space and the text. The server also expires the key; the stored expiry is for
-- a clock set by a test. O(1).
local function held()
  local stored = call('GET', KEY)
  if not stored then return nil end
  local expires_at, text = string.match(stored, '^(%d+) (.*)$')
  if tonumber(expires_at) > clock then return text, tonumber(expires_at) end
end

local function hold(text, expires_at)
  local left_ms = math.ceil((expires_at - clock) / 1000)
  call('SET', KEY, string.format('%d ', expires_at) .. text, 'PX', string.format('%d', left_ms))
end

-- The milliseconds and sequence number of a log's last entry; nothing if there is none, or if it is
-- so old that the log counts as dropped. The server also expires the key; this check is for a clock
-- set by a test. O(1).
local function last_entry(ttl)
  local last = call('XREVRANGE', KEY, '+', '-', 'COUNT', 1)[1]
  if not last then return nil end
  local at_ms, number = string.match(last[1], '^(%d+)-(%d+)$')
  if ttl ~= '' and tonumber(at_ms) * 1000 + tonumber(ttl) * SECOND <= clock then return nil end
  return tonumber(at_ms), tonumber(number)
end
