-- Rule 7: when the bearer was let in, by the ticket or by the word of the process that did it, while that is good: an
-- admitted ticket for active_ttl from its signature, the word for as long as the place would have stood unclaimed. A
-- session that lapsed and joined once more under its old id was let in before it arrived: that word is not about this
-- ticket. O(1).
local function word(ticket_arrival, ticket_admitted, signed_at)
  local let_in_at, good = ticket_admitted, now < signed_at + active_ttl * SECOND
  if ticket_admitted < 0 then
    let_in_at = -ticket_admitted
    good = let_in_at > ticket_arrival and now < let_in_at + claim_ttl * SECOND
  end
  if good and not outlived(let_in_at) then return let_in_at end
end

-- Whether a state that knew of this instant is being taken back. O(1).
local function lost_since(instant)
  return recovering and instant < began
end

-- Whether a failover lost the state's last moments, and with them that the bearer, who waits by this state, was let in at
-- this instant. Whoever waits again after that came back to the line after it, and such a visit is good for a full
-- waiting_ttl; who lapses earlier stands there since before it. O(1).
local function went_back_behind(bearer, ticket_arrival, instant)
  local expiry = math.ceil(tonumber(call('ZSCORE', POOL, bearer)) or 0)
  return expiry < instant + waiting_ttl * SECOND
    and tonumber(call('ZSCORE', LINE, bearer)) == ticket_arrival
    and instant > (tonumber(call('HGET', STATE, 'waiting_ttl_since')) or 0)
end
