-- Marks a visitor as away: the presence of a waiting session ends, its ticket still holds the
-- position.
--
-- KEYS[1..8] line, active, pool, ended, state, settings, joins, networks
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the session
-- ARGV[3]    the ticket's epoch
-- Returns    { DONE, removal }: REMOVED_WAITING or REMOVED_ABSENT
-- Cost       O(log n); at most REAP_BATCH sessions expire and ADVANCE_BATCH are admitted on the way
-- Rules      2, 6, 8
reap(REAP_BATCH)
local removal = REMOVED_ABSENT
local arrival = tonumber(ARGV[3]) == rules.epoch and call('ZSCORE', LINE, ARGV[2])
if arrival then
  leaves_line(tonumber(arrival), tonumber(call('ZSCORE', POOL, ARGV[2])))
  call('ZREM', LINE, ARGV[2])
  call('ZREM', POOL, ARGV[2])
  count('away', 1)
  removal = REMOVED_WAITING
end
measure()
advance()
return { DONE, removal }
