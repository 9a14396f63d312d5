-- Sets an ephemeral key.
--
-- KEYS[1]    the ephemeral key
-- ARGV[1]    now in us, or ''
-- ARGV[2]    its TTL in seconds
-- ARGV[3]    its text
-- Returns    1
-- Cost       O(1)
hold(ARGV[3], clock + tonumber(ARGV[2]) * SECOND)
return 1
