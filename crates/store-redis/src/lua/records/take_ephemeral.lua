-- Removes a note.
--
-- KEYS[1]    the note
-- ARGV[1]    now in us, or ''
-- Returns    what it said, or nothing
-- Cost       O(1)
local text = held()
call('DEL', KEYS[1])
return text or false
