-- The bearer of a ticket leaves for good.
--
-- KEYS[1..6] line, places, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the session
-- ARGV[3]    the ticket's epoch
-- Returns    { DONE, removal, whom it let in .. }: WAITED, WAS_ADMITTED or WAS_ABSENT
-- Cost       O(log n); at most REAP_BATCH sessions lapse and ADVANCE_BATCH are let in on the way
-- Rules      2, 6, 8
if tonumber(ARGV[3]) ~= epoch then return { DONE, WAS_ABSENT } end
return with_let_in({ DONE, end_session(ARGV[2], 'left') })
