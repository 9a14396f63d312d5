-- Registers a job again of which only its message is known.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- ARGV[3]    its ID
-- ARGV[4]    the fields of its record that the producer decided, as a map
-- ARGV[5]    the generation of its message
-- ARGV[6]    the number of its message
-- ARGV[7]    when it was accepted, in us
-- ARGV[8]    '1' if it may have been started before, else '0'
-- Returns    {}
-- Cost       O(log n)
-- Rules      H8, J7
jobs.restore(ARGV[3], cmsgpack.unpack(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8] == '1')
return jobs.reply({})
