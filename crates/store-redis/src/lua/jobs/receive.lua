-- Leases jobs that are due.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- ARGV[3]    how many, at most JOB_BATCH
-- Returns    { when the next job can start or -1, ID, record, payload, ID, .. }, the job that has been due longest first
-- Cost       O(log n) a job
-- Rules      J5, J6, J8, J9, J13
return jobs.reply(jobs.receive(tonumber(ARGV[3])))
