-- A note is the instant at which it lapses, in microseconds, a space and its text. The server drops it at that instant
-- too; the instant is there for a clock that a test sets. O(1).
local function held()
  local note = call('GET', KEYS[1])
  if not note then return nil end
  local lapses_at, text = string.match(note, '^(%d+) (.*)$')
  if tonumber(lapses_at) > now then return text, tonumber(lapses_at) end
end

local function hold(text, lapses_at)
  local left_ms = math.ceil((lapses_at - now) / 1000)
  call('SET', KEYS[1], string.format('%d ', lapses_at) .. text, 'PX', string.format('%d', left_ms))
end
