-- Keeps the payload of a dead letter, which a message queue has carried.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- ARGV[3]    job ID
-- ARGV[4]    the payload
-- Returns    {}
-- Cost       O(log n)
-- Rules      J14
jobs.keep_payload(ARGV[3], ARGV[4])
return jobs.reply({})
