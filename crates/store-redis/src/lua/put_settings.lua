-- Writes a queue's settings, in force on the next request; creates the queue where it is new.
--
-- KEYS[1..6] line, active, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- ARGV[2]    ALWAYS, IF_REVISION or RESTORE
-- ARGV[3]    for IF_REVISION the revision that is to be replaced, else ''
-- ARGV[4]    the settings as a JSON document
-- ARGV[5..]  the rules: name, value or '' for none, name, value ..
-- Returns    { DONE, STORED, revision }, { DONE, CREATED, revision }, { DONE, CONFLICT, revision } or { DONE, REMOVED, 0 }
-- Cost       O(ADVANCE_BATCH * log n)
-- Rules      2, 3, 7, 11
local wanted = tonumber(ARGV[2])
local given = {}
for i = 5, #ARGV, 2 do given[ARGV[i]] = ARGV[i + 1] end

-- The fields that this version does not know stay as they are.
local function write_rules()
  for name, value in pairs(given) do
    if value == '' then call('HDEL', SETTINGS, name) else call('HSET', SETTINGS, name, value) end
  end
  call('HSET', SETTINGS, 'document', ARGV[4])
end

if not mode then
  if wanted == IF_REVISION then return { UNKNOWN_QUEUE } end
  if wanted == RESTORE and call('HEXISTS', SETTINGS, 'removed') == 1 then return { DONE, REMOVED, 0 } end
  call('UNLINK', SETTINGS)
  write_rules()
  waiting_ttl, active_ttl = tonumber(given.waiting_ttl), tonumber(given.active_ttl)
  begin(wanted == RESTORE, true)
  return { DONE, CREATED, tonumber(given.revision) }
end

local provisional = false
if wanted == RESTORE then
  -- What another process restored gives way to newer settings.
  local restored, restored_epoch = tonumber(given.revision), tonumber(given.epoch)
  local newer = restored_epoch > epoch or restored_epoch == epoch and restored > revision
  if not newer or call('HGET', STATE, 'provisional') ~= '1' then return { DONE, CONFLICT, revision } end
  provisional = true
elseif wanted == IF_REVISION and tonumber(ARGV[3]) ~= revision then
  return { DONE, CONFLICT, revision }
else
  given.revision = string.format('%d', revision + 1)
end

-- What was earned so far was earned at the old rate.
local line = line_operations()
local epoch_before, mode_before, quota_before, rate_before, pace_before =
  epoch, mode, quota, admissions_per_minute, pace
if tonumber(given.epoch) == epoch_before and admissions_per_minute then line.save_credit(credit_now()) end
write_rules()
read_rules()
if epoch == epoch_before then
  call('HDEL', STATE, 'empty_since')
  call('HSET', STATE, 'provisional', provisional and 1 or 0)
  find_recovery()
  line.advance()
  line.change_pace(mode_before, quota_before, rate_before, pace_before)
else
  begin(provisional, provisional)
end
return { DONE, STORED, revision }
