-- Returns a page of waiting sessions in order of arrival. Does not change the state.
--
-- KEYS[1..6] line, active, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- ARGV[2]    first arrival in us
-- ARGV[3]    how many, at most PAGE_MAX
-- Returns    { DONE, arrival of the next session or -1, session, arrival, expiry, session, .. }
-- Cost       O(log n + PAGE_MAX)
local limit = math.min(tonumber(ARGV[3]), PAGE_MAX)
local found = call('ZRANGE', LINE, ARGV[2], '+inf', 'BYSCORE', 'LIMIT', 0, limit + 1, 'WITHSCORES')
local reply, sessions = { DONE, tonumber(found[2 * limit + 2]) or -1 }, {}
for i = 1, math.min(limit, #found / 2) do sessions[i] = found[2 * i - 1] end
if #sessions == 0 then return reply end
for i, expiry in ipairs(call('ZMSCORE', POOL, unpack(sessions))) do
  reply[#reply + 1] = sessions[i]
  reply[#reply + 1] = tonumber(found[2 * i])
  reply[#reply + 1] = tonumber(expiry) or 0
end
return reply
