-- Ends a session on behalf of an operator, whether it is present or away.
--
-- KEYS[1..8] line, active, pool, ended, state, settings, joins, networks
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the session
-- Returns    { DONE, removal }: REMOVED_WAITING, REMOVED_ACTIVE or REMOVED_ABSENT
-- Cost       O(log n); at most REAP_BATCH sessions expire and ADVANCE_BATCH are admitted on the way
-- Rules      2, 6, 8
return { DONE, end_and_advance(ARGV[2], 'ended') }
