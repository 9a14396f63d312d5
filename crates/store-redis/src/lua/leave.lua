-- Ends the session of a visitor who leaves.
--
-- KEYS[1..8] line, active, pool, ended, state, settings, joins, networks
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the session
-- ARGV[3]    the ticket's epoch
-- ARGV[4]    1 if the ticket shows that the session was active, else 0
-- ARGV[5]    1 if the client had not returned a ticket when it was signed, else 0
-- ARGV[6]    when the ticket was signed, or its bearer came to the lobby in which they got it, in us
-- ARGV[7]    1 if its session can have ended before then, else 0
-- Returns    { DONE, removal }: REMOVED_WAITING, REMOVED_ACTIVE or REMOVED_ABSENT
-- Cost       O(log n); at most REAP_BATCH sessions expire and ADVANCE_BATCH are admitted on the way
-- Rules      2, 6, 8, 24
if tonumber(ARGV[3]) ~= rules.epoch then return { DONE, REMOVED_ABSENT } end
local was_active, unconfirmed, may_follow = ARGV[4] == '1', ARGV[5] == '1', ARGV[7] == '1'
local issued_at, ended_at = tonumber(ARGV[6]), nil
if may_follow then ended_at = tombstones.at(ARGV[2]) end
if ended_at and issued_at <= ended_at then return { DONE, REMOVED_ABSENT } end
local returned = was_active and now < good_until(0, issued_at, unconfirmed)
return { DONE, end_and_advance(ARGV[2], 'left', unconfirmed and not may_follow, returned) }
