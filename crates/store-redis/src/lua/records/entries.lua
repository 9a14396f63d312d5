-- Returns entries of a log, newest first.
--
-- KEYS[1]    the log
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the id before which to begin, or ''
-- ARGV[3]    how many
-- ARGV[4]    seconds after its last entry until the log is dropped, or ''
-- Returns    id, text, id, text, ..
-- Cost       O(log n + entries)
local found = {}
if last_entry(ARGV[4]) then
  local from = ARGV[2] == '' and '+' or '(' .. ARGV[2]
  for _, entry in ipairs(call('XREVRANGE', KEYS[1], from, '-', 'COUNT', ARGV[3])) do
    found[#found + 1], found[#found + 2] = entry[1], entry[2][2]
  end
end
return found
