-- Returns what is known about jobs.
--
-- KEYS[1..11] ready, groups, leased, unfinished, completed, dead, jobs, payloads, state, progress, delivered
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the settings, packed as a map
-- ARGV[3]    'status' for a view without contents, 'result' for one without the payload, or 'contents'
-- ARGV[4..]  their IDs, at most JOB_BATCH
-- Returns    of each job its state, when it is due or -1, the number of jobs ahead of it, record, response, payload or result
--            or nil, { progress, .. }; only '' if there is no such job
-- Cost       O(log n) a job
-- Rules      J14, J18
local ids, reply = { unpack(ARGV, 4) }, {}
if ids[1] then jobs.read(ids) end
for _, id in ipairs(ids) do jobs.get(reply, id, ARGV[3]) end
return jobs.reply(reply)
