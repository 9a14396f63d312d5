-- Removes lapsed sessions and old tombstones, and fills the places that became free.
--
-- KEYS[1..6] line, places, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- ARGV[2]    how many of each at most; PURGE_BATCH is the most
-- Returns    { DONE, lapsed sessions, tombstones, admitted, whether more is due }
-- Cost       O(PURGE_BATCH * log n)
-- Rules      2, 6
local limit = math.min(tonumber(ARGV[2]), PURGE_BATCH)
local expired, tombstones = reap(limit), clear_tombstones(limit)
measure()
local admitted = advance()
local more = #due_in(POOL, 1) + #due_in(ENDED, 1) > 0
return { DONE, expired, tombstones, admitted, more and 1 or 0 }
