-- Replaces an ephemeral key if it exists.
--
-- KEYS[1]    the ephemeral key
-- ARGV[1]    now in us, or ''
-- ARGV[2]    its TTL in seconds
-- ARGV[3]    its text
-- Returns    1 if it was written, 0 if there was none
-- Cost       O(1)
if not held() then return 0 end
hold(ARGV[3], clock + tonumber(ARGV[2]) * SECOND)
return 1
