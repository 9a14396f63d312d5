-- The queue page was closed: a waiting session's presence ends, its ticket still holds the position.
--
-- KEYS[1..6] line, active, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the session
-- ARGV[3]    the ticket's epoch
-- Returns    { DONE, removal }: REMOVED_WAITING or REMOVED_ABSENT
-- Cost       O(log n); at most REAP_BATCH sessions expire and ADVANCE_BATCH are admitted on the way
-- Rules      2, 6, 8
local line = line_operations()
line.reap(REAP_BATCH)
local removal = REMOVED_ABSENT
local arrival = tonumber(ARGV[3]) == epoch and call('ZSCORE', LINE, ARGV[2])
if arrival then
  line.leaves_line(tonumber(arrival), tonumber(call('ZSCORE', POOL, ARGV[2])))
  call('ZREM', LINE, ARGV[2])
  call('ZREM', POOL, ARGV[2])
  line.count('away', 1)
  removal = REMOVED_WAITING
end
line.measure()
line.advance()
return { DONE, removal }
