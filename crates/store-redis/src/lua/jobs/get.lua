-- Returns what is known about a job.
--
-- KEYS[1..9] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- ARGV[3]    its ID
-- Returns    { state, when it is due or -1, record, response, payload }; {} if there is no such job
-- Cost       O(log n)
-- Rules      J14, J18
return jobs.reply(jobs.get(ARGV[3]))
