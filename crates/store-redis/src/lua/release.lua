-- Admits the next sessions of the line regardless of quota, rate and pause.
--
-- KEYS[1..8] line, active, pool, ended, state, settings, joins, networks
-- ARGV[1]    now in us, or ''
-- ARGV[2]    how many, at most RELEASE_BATCH
-- Returns    { DONE, released }; 0 while the order is drawn
-- Cost       O((ADVANCE_BATCH + RELEASE_BATCH) * log n)
-- Rules      2, 6, 10, 13
reap(REAP_BATCH)
advance()
if effective_mode() == 'draw' then return { DONE, 0 } end
local released = admit_from_head(math.min(tonumber(ARGV[2]), RELEASE_BATCH), RELEASE_BATCH)
save_pace(0)
count('released', released)
return { DONE, released }
