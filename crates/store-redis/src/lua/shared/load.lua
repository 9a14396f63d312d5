-- Reads the clock, the rules in force and what every operation needs of the state.
--
-- ARGV[1] is the instant in microseconds since 1970 where a test sets the clock, else '' for the server's own.
-- A queue without rules ends the script with { UNKNOWN_QUEUE }, unless the script is the one that CREATES it.
-- A queue with rules but without a state has lost it: a new one begins now (rule 7).
-- Costs 2 or 3 commands of O(1).
local call = redis.call
local LINE, PLACES, POOL, ENDED, STATE, SETTINGS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]

local packed = call('HGET', SETTINGS, 'rules')
if not packed and not CREATES then return { UNKNOWN_QUEUE } end

-- As text too: a number is written out anew for every command it is passed to.
local now_text = ARGV[1]
if now_text == '' then
  local time = call('TIME')
  now_text = time[1] .. string.sub('000000' .. time[2], -6)
end
local now = tonumber(now_text)

local mode, quota, per_minute, waiting_ttl, active_ttl, claim_ttl, hold_ttl, max_session, epoch, revision
local began, lost, pace, taking_back_until, recovering
-- How many wait and how many are let in: see measure.
local waiting, active
if packed then
  mode, quota, per_minute, waiting_ttl, active_ttl, claim_ttl, hold_ttl, max_session, epoch, revision =
    struct.unpack(RULES_FORMAT, packed)
  local state = call('HMGET', STATE, 'began', 'lost', 'flow')
  began, lost, pace = tonumber(state[1]), state[2] == '1', state[3] or ''
  if not began then
    began, lost = now, true
    if WRITES then call('HSET', STATE, 'began', now, 'lost', 1) end
  end
  taking_back_until = began + waiting_ttl * SECOND
  recovering = lost and now < taking_back_until
end
