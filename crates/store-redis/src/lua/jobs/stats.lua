-- Returns the statistics of a job queue.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- Returns    { waiting, ready, running, dead, bytes, age of the oldest unfinished job in us or -1, ID of the job that blocks its
--            group or '', age of that block in us or -1, end of the pause or -1, state }
-- Cost       O(log n); in a FIFO job queue BLOCKING_SEARCH records are read
-- Rules      J6
return jobs.stats()
