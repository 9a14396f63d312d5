-- Decrements a counter if it exists; its expiry does not change.
--
-- KEYS[1]    the ephemeral key
-- ARGV[1]    now in us, or ''
-- Returns    1 if there was one, else 0
-- Cost       O(1)
local text, expires_at = held()
if not text then return 0 end
hold(string.format('%d', math.max(0, (tonumber(text) or 0) - 1)), expires_at)
return 1
