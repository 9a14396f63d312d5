-- Writes a note.
--
-- KEYS[1]    the note
-- ARGV[1]    now in us, or ''
-- ARGV[2]    seconds that it lasts
-- ARGV[3]    its text
-- Returns    1
-- Cost       O(1)
hold(ARGV[3], now + tonumber(ARGV[2]) * SECOND)
return 1
