-- Writes epoch and revision as they are now. O(1).
local function save_rules()
  call('HSET', SETTINGS, 'mode', mode, 'epoch', epoch, 'revision', revision)
end

-- An empty line whose state begins now. `lost` says that there was a state before, so that it begins in recovery.
-- O(1): what was there is freed in the background.
local function begin(lost, provisional)
  call('UNLINK', LINE, ACTIVE, POOL, ENDED, STATE)
  waiting, active, state_since, used_at, waited, gap, pace = 0, 0, now, now, false, '', ''
  call('HSET', STATE, 'state_since', now, 'used_at', now, 'provisional', provisional and 1 or 0)
  recovery_since, recovering, reserving, reached = 0, false, false, '0'
  known, known_at, known_reached, settled = 0, 0, 0, 0
  if lost then begin_recovery(0) end
end
