-- Takes one back from the number that a note holds, if there is one; the note expires when it would have.
--
-- KEYS[1]    the note
-- ARGV[1]    now in us, or ''
-- Returns    1 if there was one, else 0
-- Cost       O(1)
local text, expires_at = held()
if not text then return 0 end
hold(string.format('%d', math.max(0, (tonumber(text) or 0) - 1)), expires_at)
return 1
