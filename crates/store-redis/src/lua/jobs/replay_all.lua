-- Puts up to a batch of dead letters back, the oldest first.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- ARGV[3]    only those that ended until this time in us; '' for now
-- Returns    { how many, that time, 1 if there are more or 0, { job ID, .. } }
-- Cost       O(log n) a job
-- Rules      H13, J4, J14
return jobs.reply(jobs.replay_all(tonumber(ARGV[3])))
