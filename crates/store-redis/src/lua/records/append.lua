-- Appends an entry to a log and drops the oldest.
--
-- KEYS[1]    the log
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the text
-- ARGV[3]    maximum number of entries; a few more may remain for a while
-- ARGV[4]    seconds after its last entry until the log is dropped, or ''
-- Returns    the id of the entry
-- Cost       O(1)
local now_ms = math.floor(clock / 1000)
local at_ms, number = last_entry(ARGV[4])
if not at_ms then call('UNLINK', KEYS[1]) end
if at_ms and at_ms >= now_ms then
  number = number + 1
else
  at_ms, number = now_ms, 0
end
local id = string.format('%d-%d', at_ms, number)
call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[3], id, 'text', ARGV[2])
if ARGV[4] ~= '' then call('EXPIRE', KEYS[1], ARGV[4]) end
return id
