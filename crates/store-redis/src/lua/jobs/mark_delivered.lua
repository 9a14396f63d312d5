-- Records that a visitor got the response to a held order.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- ARGV[3]    job ID
-- Returns    {}
-- Cost       O(log n)
-- Rules      J18
jobs.mark_delivered(ARGV[3])
return jobs.reply({})
