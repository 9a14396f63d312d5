-- Writes a tenant over the text that was read.
--
-- KEYS[1]    the tenants: tenant -> its JSON
-- ARGV[1]    the tenant
-- ARGV[2]    the JSON that was read, or '' if there was none
-- ARGV[3]    the new JSON
-- Returns    STORED, also if it is there already, or CONFLICT
-- Cost       O(1)
local found = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if found ~= ARGV[2] and found ~= ARGV[3] then return CONFLICT end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return STORED
