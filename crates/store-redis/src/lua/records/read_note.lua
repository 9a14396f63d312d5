-- What a note says.
--
-- KEYS[1]    the note
-- ARGV[1]    now in us, or ''
-- Returns    its text, or nothing
-- Cost       O(1)
return held() or false
