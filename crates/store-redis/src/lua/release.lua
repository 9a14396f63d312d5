-- Admits the next sessions of the line, whatever quota, rate or pause say.
--
-- KEYS[1..6] line, active, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- ARGV[2]    how many, at most RELEASE_BATCH
-- Returns    { DONE, released }
-- Cost       O((ADVANCE_BATCH + RELEASE_BATCH) * log n)
-- Rules      2, 6, 10
local line = line_operations()
line.reap(REAP_BATCH)
line.advance()
local released = line.admit_from_head(math.min(tonumber(ARGV[2]), RELEASE_BATCH), RELEASE_BATCH)
line.save_pace(0)
line.count('released', released)
return { DONE, released }
