-- Writes or removes a document over a revision, and renews the revision of its kind. That is the time of the write or later, so
-- that it differs from all before a loss.
--
-- KEYS[1]    the documents of one kind: id -> revision, a space, the text; '' -> revision of the kind
-- ARGV[1]    now in us, or ''
-- ARGV[2]    id of the document
-- ARGV[3]    the revision that it must have, 0 for none, or '' for any
-- ARGV[4]    '1' followed by the text, or '' to remove the document
-- ARGV[5]    maximum number of documents of one kind
-- ARGV[6]    text that another document must contain, or ''
-- Returns    { STORED, revision }, { CONFLICT, revision }, { FULL, 0 } or { NO_OTHER, 0 }
-- Cost       O(1); O(documents) if another document is required
local revision = tonumber(string.match(call('HGET', KEYS[1], ARGV[2]) or '0', '^%d+'))
local is_other = ARGV[3] ~= '' and revision ~= tonumber(ARGV[3])
if is_other or (ARGV[3] == '' and revision == 0) then return { CONFLICT, revision } end
if ARGV[6] ~= '' then
  local all, found = call('HGETALL', KEYS[1]), false
  for i = 1, #all, 2 do
    found = found or (all[i] ~= ARGV[2] and all[i] ~= '' and string.find(all[i + 1], ARGV[6], 1, true) ~= nil)
  end
  if not found then return { NO_OTHER, 0 } end
end
local of_kind = tonumber(call('HGET', KEYS[1], ''))
if ARGV[4] ~= '' and revision == 0 and call('HLEN', KEYS[1]) - (of_kind and 1 or 0) >= tonumber(ARGV[5]) then
  return { FULL, 0 }
end
call('HSET', KEYS[1], '', string.format('%d', math.max(clock, (of_kind or 0) + 1)))
if ARGV[4] == '' then
  call('HDEL', KEYS[1], ARGV[2])
  return { STORED, 0 }
end
call('HSET', KEYS[1], ARGV[2], string.format('%d ', revision + 1) .. string.sub(ARGV[4], 2))
return { STORED, revision + 1 }
