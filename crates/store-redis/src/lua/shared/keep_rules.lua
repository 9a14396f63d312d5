-- Writes the rules as they are now. O(1).
local function keep_rules()
  call('HSET', SETTINGS, 'rules', struct.pack(
    RULES_FORMAT,
    mode, quota, per_minute, waiting_ttl, active_ttl, claim_ttl, hold_ttl, max_session, epoch, revision
  ))
end
