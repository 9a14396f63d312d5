-- The milliseconds and the number of a stream's last entry; nothing where there is none, or where it is so old that the
-- stream counts as dropped. The server drops it then too; this is for a clock that a test sets. O(1).
local function last_entry(lasts)
  local last = call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
  if not last then return nil end
  local at_ms, number = string.match(last[1], '^(%d+)-(%d+)$')
  if lasts ~= '' and tonumber(at_ms) * 1000 + tonumber(lasts) * SECOND <= now then return nil end
  return tonumber(at_ms), tonumber(number)
end
