-- Adds one to the number that a note holds; the note expires when it would have.
--
-- KEYS[1]    the note
-- ARGV[1]    now in us, or ''
-- ARGV[2]    seconds that it lasts from the first count on
-- Returns    the number
-- Cost       O(1)
local text, expires_at = held()
local number = (tonumber(text) or 0) + 1
hold(string.format('%d', number), expires_at or clock + tonumber(ARGV[2]) * SECOND)
return number
