-- Writes a note unless there is one.
--
-- KEYS[1]    the note
-- ARGV[1]    now in us, or ''
-- ARGV[2]    seconds that it lasts
-- ARGV[3]    its text
-- Returns    1 if it was written, 0 if there was one
-- Cost       O(1)
if held() then return 0 end
hold(ARGV[3], clock + tonumber(ARGV[2]) * SECOND)
return 1
