-- Records that messages of ended jobs were deleted.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- ARGV[3..]  of each message, at most JOB_BATCH: job ID, generation and number of the message
-- Returns    {}
-- Cost       O(log n) a job
local ids = {}
for i = 3, #ARGV, 3 do ids[#ids + 1] = ARGV[i] end
if ids[1] then jobs.read(ids) end
for i = 3, #ARGV, 3 do jobs.message_deleted(ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])) end
return jobs.reply({})
