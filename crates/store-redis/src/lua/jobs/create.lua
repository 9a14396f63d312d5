-- Lets a job queue accept jobs that was removed before.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- Returns    {}
-- Cost       O(1)
-- Rules      J3
jobs.create()
return jobs.reply({})
