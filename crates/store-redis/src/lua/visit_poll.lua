-- The first part of visit.lua: a queue that lets everybody pass, and the poll of somebody present at which nobody moves,
-- by far the most frequent visit. Both are answered here, before any function of the rules is made, which alone would
-- take a third of their time. Everything else falls through with nothing done.
waiting, active = call('ZCARD', LINE), call('ZCARD', PLACES)

if mode == BYPASS then
  return { DONE, now, packed, NOBODY, ABSENT, 0, -1, 0, 0, waiting, active, recovering and 1 or 0, pace }
end

repeat
  if ARGV[2] == '' then break end
  local bearer, ticket_epoch, arrival, admitted_at, signed_at = struct.unpack(TICKET_FORMAT, ARGV[2])
  if ticket_epoch ~= epoch or (not lost and signed_at < began) then break end
  -- Somebody can be let in, or the pace begins to be counted.
  if waiting > 0 and not recovering and (mode == OPEN or mode == DRAINING)
    and (pace == '' or active < quota and (per_minute < 0 or credit_now() >= ADMISSION_COST)) then break end
  if #call('ZRANGE', POOL, '0', now_text, 'BYSCORE', 'LIMIT', '0', '1') > 0 then break end

  local rank, ttl, share, of = 0, active_ttl, PLACES_SHARE, PLACES_OF
  if admitted_at >= 0 then
    if max_session >= 0 then break end
    admitted_at = tonumber(call('ZSCORE', PLACES, bearer))
    if not admitted_at then break end
  else
    rank = call('ZRANK', LINE, bearer)
    if not rank then break end
    rank, ttl, share, of = rank + 1, waiting_ttl, LINE_SHARE, LINE_OF
    arrival = tonumber(call('ZSCORE', LINE, bearer))
  end
  -- Rule 5, as at the end of visit.lua.
  local expiry, target = tonumber(call('ZSCORE', POOL, bearer)) or 0, now + ttl * SECOND
  -- The ticket comes back for the first time: that is counted there.
  if expiry % 1 > 0 then break end
  if expiry > target or (expiry - now) * of < (target - now) * share then
    expiry = target
    call('ZADD', POOL, expiry, bearer)
  end
  return {
    DONE, now, packed, BY_TICKET, PRESENT, arrival, admitted_at, rank, expiry,
    waiting, active, recovering and 1 or 0, pace,
  }
until true
