-- The queue page was closed: a waiting session's presence ends, its ticket still holds the place.
--
-- KEYS[1..6] line, places, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the session
-- ARGV[3]    the ticket's epoch
-- Returns    { DONE, removal, whom it let in .. }: WAITED or WAS_ABSENT
-- Cost       O(log n); at most REAP_BATCH sessions lapse and ADVANCE_BATCH are let in on the way
-- Rules      2, 6, 8
reap(REAP_BATCH)
local removal = WAS_ABSENT
if tonumber(ARGV[3]) == epoch and call('ZREM', LINE, ARGV[2]) == 1 then
  if is_confirmed(call('ZSCORE', POOL, ARGV[2])) then gone = gone + 1 end
  call('ZREM', POOL, ARGV[2])
  count('went_away', 1)
  removal = WAITED
end
measure()
advance()
return with_let_in({ DONE, removal })
