-- Adds one to the number that a note holds; the note lapses when it would have.
--
-- KEYS[1]    the note
-- ARGV[1]    now in us, or ''
-- ARGV[2]    seconds that it lasts from the first count on
-- Returns    the number
-- Cost       O(1)
local text, lapses_at = held()
local number = (tonumber(text) or 0) + 1
hold(string.format('%d', number), lapses_at or now + tonumber(ARGV[2]) * SECOND)
return number
