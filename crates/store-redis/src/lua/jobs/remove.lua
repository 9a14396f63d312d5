-- Removes everything about a job queue without unfinished jobs and dead letters.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- Returns    { 1, or 0 if it has some }
-- Cost       O(n) in the results that it keeps
return { jobs.remove() }
