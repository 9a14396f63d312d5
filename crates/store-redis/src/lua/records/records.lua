-- What the operations on documents, logs and ephemeral keys share.
-- KEYS[1] is the one key of the operation; ARGV[1] is the instant, as in every operation.
local KEY
local function begin_record(keys, args)
  begin_clock(args)
  KEY = keys[1]
end

-- The text of the ephemeral key and when it expires; nothing if there is none. It is stored as that instant in microseconds, a
-- space and the text: the server drops it then too, the instant is for a clock that a test sets. O(1).
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

-- The milliseconds and the number of a stream's last entry; nothing where there is none, or where it is so old that the
-- stream counts as dropped. The server drops it then too; this is for a clock that a test sets. O(1).
local function last_entry(lasts)
  local last = call('XREVRANGE', KEY, '+', '-', 'COUNT', 1)[1]
  if not last then return nil end
  local at_ms, number = string.match(last[1], '^(%d+)-(%d+)$')
  if lasts ~= '' and tonumber(at_ms) * 1000 + tonumber(lasts) * SECOND <= clock then return nil end
  return tonumber(at_ms), tonumber(number)
end
