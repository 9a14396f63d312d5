-- Increments a counter; its expiry does not change.
--
-- KEYS[1]    the ephemeral key
-- ARGV[1]    now in us, or ''
-- ARGV[2]    its TTL in seconds, from the first increment
-- Returns    the number
-- Cost       O(1)
local text, expires_at = held()
local number = (tonumber(text) or 0) + 1
hold(string.format('%d', number), expires_at or clock + tonumber(ARGV[2]) * SECOND)
return number
