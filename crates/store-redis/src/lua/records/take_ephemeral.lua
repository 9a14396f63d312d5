-- Removes an ephemeral key and returns its value.
--
-- KEYS[1]    the ephemeral key
-- ARGV[1]    now in us, or ''
-- Returns    its text, or nothing
-- Cost       O(1)
local text = held()
call('DEL', KEYS[1])
return text or false
