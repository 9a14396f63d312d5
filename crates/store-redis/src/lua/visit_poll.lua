-- The first part of visit.lua: a queue that lets everybody pass, and polls of those present at which nobody moves, by far the
-- most frequent visits. As many of them as come first are answered here, before any function of the rules is made, which
-- alone would take longer than a poll. Everything else falls through with nothing done.
waiting, active = call('ZCARD', LINE), call('ZCARD', PLACES)
local reply = { DONE, now, packed, 0, waiting, active, recovering and 1 or 0, pace }
-- Where the next visit stands in ARGV, and where its answer begins.
local at, filled = 2, #reply

if mode == BYPASS then
  for _ = at, #ARGV, 2 do
    for _, value in ipairs({ NOBODY, ABSENT, 0, -1, 0, 0 }) do reply[#reply + 1] = value end
  end
  reply[4] = (#ARGV - 1) / 2
  return reply
end

-- Unless somebody can be let in, or the pace begins to be counted, or somebody has lapsed.
if (waiting == 0 or recovering or (mode ~= OPEN and mode ~= DRAINING)
    or (pace ~= '' and (active >= quota or (per_minute >= 0 and credit_now() < ADMISSION_COST))))
  and #call('ZRANGE', POOL, '0', now_text, 'BYSCORE', 'LIMIT', '0', '1') == 0 then
  local bearers, arrivals, since = {}, {}, {}
  for i = at, #ARGV, 2 do
    if ARGV[i] == '' then break end
    local bearer, ticket_epoch, arrival, admitted_at, signed_at = struct.unpack(TICKET_FORMAT, ARGV[i])
    -- Of another epoch, or of a state that was lost; or the process vouches for the bearer; or the place may end.
    if ticket_epoch ~= epoch or (not lost and signed_at < began) or admitted_at < -1
      or (admitted_at >= 0 and max_session >= 0) then break end
    local last = #bearers + 1
    bearers[last], arrivals[last], since[last] = bearer, arrival, admitted_at
  end

  local expiries, in_line, moved = nil, nil, {}
  if #bearers > 0 then
    expiries, in_line = call('ZMSCORE', POOL, unpack(bearers)), call('ZMSCORE', LINE, unpack(bearers))
  end
  for i, bearer in ipairs(bearers) do
    local rank, arrival, admitted_at, ttl, share, of = 0, arrivals[i], -1, waiting_ttl, LINE_SHARE, LINE_OF
    if since[i] >= 0 then
      admitted_at, ttl, share, of = tonumber(call('ZSCORE', PLACES, bearer)), active_ttl, PLACES_SHARE, PLACES_OF
      if not admitted_at then break end
    else
      rank, arrival = call('ZRANK', LINE, bearer), tonumber(in_line[i])
      if not rank then break end
      rank = rank + 1
    end
    -- Rule 5, as at the end of visit.lua.
    local expiry, target = tonumber(expiries[i]) or 0, now + ttl * SECOND
    -- The ticket comes back for the first time: that is counted there.
    if expiry % 1 > 0 then break end
    if expiry > target or (expiry - now) * of < (target - now) * share then
      expiry = target
      moved[#moved + 1], moved[#moved + 2] = expiry, bearer
    end
    reply[filled + 1], reply[filled + 2], reply[filled + 3] = BY_TICKET, PRESENT, arrival
    reply[filled + 4], reply[filled + 5], reply[filled + 6] = admitted_at, rank, expiry
    at, filled = at + 2, filled + 6
  end
  if #moved > 0 then call('ZADD', POOL, unpack(moved)) end
end
reply[4] = (at - 2) / 2
if at > #ARGV then return reply end
