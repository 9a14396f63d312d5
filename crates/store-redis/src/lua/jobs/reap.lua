-- Removes up to a batch of everything that has expired, as every operation does.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- Returns    { 1 if more has expired, else 0 }
-- Cost       O(log n) for everything that is removed
-- Rules      J9, J16, J18
return jobs.reply({ jobs.has_expired() })
