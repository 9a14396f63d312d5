-- Reads an ephemeral key.
--
-- KEYS[1]    the ephemeral key
-- ARGV[1]    now in us, or ''
-- Returns    its text, or nothing
-- Cost       O(1)
return held() or false
