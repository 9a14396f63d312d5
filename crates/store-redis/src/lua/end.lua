-- An operator ends a session, present or away.
--
-- KEYS[1..6] line, places, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the session
-- Returns    { DONE, removal, whom it let in .. }: WAITED, WAS_ADMITTED or WAS_ABSENT
-- Cost       O(log n); at most REAP_BATCH sessions lapse and ADVANCE_BATCH are let in on the way
-- Rules      2, 6, 8
return with_let_in({ DONE, end_session(ARGV[2], 'ended') })
