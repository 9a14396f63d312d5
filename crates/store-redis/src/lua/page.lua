-- Returns a page of waiting, active or ended sessions. Does not change the state.
--
-- KEYS[1..8] line, active, pool, ended, state, settings, joins, networks
-- ARGV[1]    now in us, or ''
-- ARGV[2]    the list: WAITING, ADMITTED or ENDED_BEFORE
-- ARGV[3]    first arrival, admission or expiry of a tombstone, in us
-- ARGV[4]    how many of them to skip, at most PAGE_SKIP_MAX
-- ARGV[5]    how many, at most PAGE_MAX
-- Returns    { DONE, time of the next session or -1, how many of that time to skip, session, time, expiry, session, .. }
-- Cost       O(log n + PAGE_SKIP_MAX + PAGE_MAX)
local list, from, skip = tonumber(ARGV[2]), tonumber(ARGV[3]), math.min(tonumber(ARGV[4]), PAGE_SKIP_MAX)
local limit = math.min(tonumber(ARGV[5]), PAGE_MAX)
-- The entries to skip are forgotten by now.
if list == ENDED_BEFORE and from <= now then skip = 0 end
-- Tombstones are kept for a time after the end of the session, and listed by their expiry.
local kept_for = list == ENDED_BEFORE and tombstones.ttl() or 0
local key = list == WAITING and LINE or list == ADMITTED and ACTIVE or ENDED
local first = list == ENDED_BEFORE and math.max(from, now + 1) or from
local found = call('ZRANGE', key, first - kept_for, '+inf', 'BYSCORE', 'LIMIT', skip, limit + 1, 'WITHSCORES')
local next_at, next_skip = tonumber(found[2 * limit + 2]), 0
next_at = next_at and next_at + kept_for or -1
local sessions, times = {}, {}
for i = 1, math.min(limit, #found / 2) do
  sessions[i], times[i] = found[2 * i - 1], tonumber(found[2 * i]) + kept_for
  if times[i] == next_at then next_skip = next_skip + 1 end
end
if next_at == from then next_skip = next_skip + skip end
local reply = { DONE, next_at, next_skip }
if #sessions == 0 then return reply end
local expiries = list == ENDED_BEFORE and times or call('ZMSCORE', POOL, unpack(sessions))
-- An active session that has ended holds its slot until the last credential issued for it expires.
for i, session in ipairs(sessions) do
  if list ~= ADMITTED or not tombstones.covers(session, times[i]) then
    reply[#reply + 1] = session
    reply[#reply + 1] = times[i]
    reply[#reply + 1] = tonumber(expiries[i]) or 0
  end
end
return reply
