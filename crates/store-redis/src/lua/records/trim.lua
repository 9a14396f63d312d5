-- Drops the entries of a log that were made before a time, and the log itself once none is left.
--
-- KEYS[1]    the log
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the time in ms since 1970
-- Returns    1
-- Cost       O(entries that are dropped)
call('XTRIM', KEYS[1], 'MINID', ARGV[2])
if call('XLEN', KEYS[1]) == 0 then call('UNLINK', KEYS[1]) end
return 1
