-- Writes a record over a revision.
--
-- KEYS[1]    the records of one kind: id -> revision, a space, the text
-- ARGV[1]    now in us, or ''
-- ARGV[2]    id of the record
-- ARGV[3]    the revision that it must have, 0 for none
-- ARGV[4]    the text
-- ARGV[5]    most records of one kind
-- Returns    { STORED, revision }, { CONFLICT, revision } or { FULL, 0 }
-- Cost       O(1)
local revision = tonumber(string.match(call('HGET', KEYS[1], ARGV[2]) or '0', '^%d+'))
if revision ~= tonumber(ARGV[3]) then return { CONFLICT, revision } end
if revision == 0 and call('HLEN', KEYS[1]) >= tonumber(ARGV[5]) then return { FULL, 0 } end
call('HSET', KEYS[1], ARGV[2], string.format('%d ', revision + 1) .. ARGV[4])
return { STORED, revision + 1 }
