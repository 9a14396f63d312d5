-- Cancels up to a batch of jobs that are not leased, the oldest first.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- Returns    { how many, 1 if jobs still wait or 0 }
-- Cost       O(log n) a job
-- Rules      H8, J13
return jobs.reply(jobs.drain())
