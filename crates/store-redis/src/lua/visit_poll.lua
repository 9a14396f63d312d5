-- The first part of visit.lua: a queue that lets everybody pass, and polls of those present at which nobody moves, by far the
-- most frequent visits. Where the ticket says that its bearer is present for long, the rank is all that is asked for. As many
-- of them as come first are answered here, before any function of the rules is made, which alone would take longer than a
-- poll. Everything else falls through with nothing done.
waiting, active = call('ZCARD', LINE), call('ZCARD', PLACES)
local visits, size = ARGV[2], #ARGV[2] / VISIT_SIZE
-- How many have been answered, of how many the ticket says the expiry, and where the next answer goes.
local answered, believed = 0, 0
local reply = { DONE, now, packed, waiting, active, recovering and 1 or 0, pace, answered, believed }
local filled = #reply

if mode == BYPASS then
  for _ = 1, size do
    for _, value in ipairs({ NOBODY, ABSENT, 0, -1, 0, 0, waiting, active, reply[6], pace }) do reply[#reply + 1] = value end
  end
  return reply
end

-- Instants are compared as the texts that they come as, which is good for those of as many digits.
local digits = #now_text
local function instant(seconds)
  local text = string.format('%d', now + seconds * SECOND + 0.5)
  return #text == digits and text
end

-- Of this epoch, and of no state that was lost; unless somebody can be let in, or the pace begins to be counted, or somebody
-- has lapsed.
local tickets, let_in_tickets, tickets_epoch, oldest = struct.unpack(TICKETS_FORMAT, ARGV[3])
local line_end, places_end = instant(waiting_ttl), instant(active_ttl)
if tickets_epoch == epoch and (lost or oldest >= began) and line_end and places_end
    and (waiting == 0 or recovering or (mode ~= OPEN and mode ~= DRAINING)
      or (pace ~= '' and (active >= quota or (per_minute >= 0 and credit_now() < ADMISSION_COST))))
    and #call('ZRANGE', POOL, '0', now_text, 'BYSCORE', 'LIMIT', '0', '1') == 0 then
  -- Rule 5, as at the end of visit.lua: whose tickets say that they are present for long, which are the first.
  local function present_until(i) return (struct.unpack('>d', visits, (i - 1) * VISIT_SIZE + SESSION_SIZE + 2)) end
  if tickets > 0 and present_until(1) <= now + waiting_ttl * SECOND then
    local far, others = now + waiting_ttl * SECOND * LINE_SHARE / LINE_OF, tickets + 1
    while others - believed > 1 do
      local middle = math.floor((believed + others) / 2)
      if present_until(middle) >= far then believed = middle else others = middle end
    end
    reply[9] = believed
  end

  local bearers, unsure, claims, is_claim = {}, {}, {}, {}
  for i = 1, tickets do
    local at = (i - 1) * VISIT_SIZE + SESSION_SIZE
    bearers[i] = string.sub(visits, at - SESSION_SIZE + 1, at)
    if i > believed then unsure[#unsure + 1] = bearers[i] end
    if let_in_tickets > 0 and string.byte(visits, at + 1) >= LET_IN then
      claims[#claims + 1], is_claim[i] = bearers[i], #claims + 1
    end
  end
  local expiries, let_in_at = {}, {}
  if #unsure > 0 then expiries = call('ZMSCORE', POOL, unpack(unsure)) end
  -- A stay that may be over is looked at by the rules.
  local endless = max_session < 0
  if endless and #claims > 0 then let_in_at = call('ZMSCORE', PLACES, unpack(claims)) end
  local line_soon, places_soon = instant(waiting_ttl * LINE_SHARE / LINE_OF), instant(active_ttl * PLACES_SHARE / PLACES_OF)
  -- Whose tickets come back for the first time, and how many they are.
  local moved, fresh, confirmed = {}, {}, 0
  for i, bearer in ipairs(bearers) do
    local claim, rank, admitted_at = is_claim[i], nil, nil
    if claim then
      admitted_at = let_in_at[claim]
    else
      rank = call('ZRANK', LINE, bearer)
      if not rank and endless then admitted_at = call('ZSCORE', PLACES, bearer) end
    end
    if not (rank or admitted_at) then break end
    if rank and i <= believed then
      reply[filled + 1], filled = rank + 1, filled + 1
    else
      local expiry = expiries[i - believed] or i <= believed and call('ZSCORE', POOL, bearer)
      if not expiry then break end
      local kept, first = expiry, #expiry > digits
      -- That is half a microsecond early.
      if first then expiry = string.format('%d', math.ceil(expiry)) end
      if #expiry ~= digits then break end
      if first and not fresh[bearer] then fresh[bearer], confirmed = true, confirmed + 1 end
      local soon, till = line_soon, line_end
      if admitted_at then soon, till = places_soon, places_end end
      if expiry < soon or expiry > till then expiry = till end
      if expiry ~= kept then moved[#moved + 1], moved[#moved + 2] = expiry, bearer end
      if admitted_at then
        reply[filled + 1], reply[filled + 2], filled = 0, admitted_at, filled + 2
      else
        reply[filled + 1], filled = rank + 1, filled + 1
      end
      reply[filled + 1], filled = expiry, filled + 1
    end
    answered = i
  end
  if #moved > 0 then call('ZADD', POOL, unpack(moved)) end
  if confirmed > 0 then call('HINCRBY', STATE, 'confirmed', confirmed) end
end
reply[8] = answered
if answered == size then return reply end
