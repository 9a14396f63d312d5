-- Returns dead letters, the newest first, without contents.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- ARGV[3]    how many, at most JOB_BATCH
-- ARGV[4]    only those before this end in us; '' for all
-- ARGV[5]    and before this sequence number if they ended at the same time
-- Returns    of each ID, and what get.lua returns of it
-- Cost       O(log n) a job
-- Rules      J14
local ids, reply = jobs.dead_letters(tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])), {}
if ids[1] then jobs.read(ids) end
for _, id in ipairs(ids) do
  reply[#reply + 1] = id
  jobs.get(reply, id, false)
end
return jobs.reply(reply)
