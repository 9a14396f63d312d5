-- Writes a queue's settings, in force on the next request; creates the queue where it is new.
--
-- KEYS[1..6] line, places, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- ARGV[2]    ALWAYS, IF_REVISION or RESTORE
-- ARGV[3]    for IF_REVISION the revision that is to be replaced, else ''
-- ARGV[4]    the rules, packed as RULES_FORMAT
-- ARGV[5]    the settings as a JSON document
-- Returns    { DONE, STORED, revision, whom it let in .. }, { DONE, CREATED, revision } or { DONE, CONFLICT, revision }
-- Cost       O(ADVANCE_BATCH * log n)
-- Rules      2, 3, 11
local wanted = tonumber(ARGV[2])

if not packed then
  if wanted == IF_REVISION then return { UNKNOWN_QUEUE } end
  begin(wanted == RESTORE)
  call('HSET', SETTINGS, 'rules', ARGV[4], 'document', ARGV[5])
  local given = { struct.unpack(RULES_FORMAT, ARGV[4]) }
  return { DONE, CREATED, given[10] }
end
if wanted == RESTORE or (wanted == IF_REVISION and tonumber(ARGV[3]) ~= revision) then
  return { DONE, CONFLICT, revision }
end

-- What was earned so far was earned at the old rate.
if per_minute >= 0 then keep_credit(credit_now()) end
local epoch_before, revision_before = epoch, revision
local mode_before, quota_before, per_minute_before = mode, quota, per_minute
local waiting_ttl_before = waiting_ttl
mode, quota, per_minute, waiting_ttl, active_ttl, claim_ttl, hold_ttl, max_session, epoch =
  struct.unpack(RULES_FORMAT, ARGV[4])
revision = revision_before + 1
keep_rules()
call('HSET', SETTINGS, 'document', ARGV[5])
if epoch == epoch_before then
  call('HDEL', STATE, 'drained')
  if waiting_ttl ~= waiting_ttl_before then call('HSET', STATE, 'waiting_ttl_since', now) end
  recovering = lost and now < began + waiting_ttl * SECOND
  measure()
  -- What other rules admit at once is no pace; what was counted under these tells of another quota as well.
  local pace_before = pace
  advance()
  local filling = active < quota and per_minute < 0
  local other = mode ~= mode_before or per_minute ~= per_minute_before or quota_before == 0
  pace = pace_before
  if filling or other or pace == '' then
    write_pace('')
  else
    local found = read_pace()
    for i = 3, 4 do found[i] = math.floor(found[i] * quota / quota_before) end
    write_pace(pace_of(found))
  end
  start_pace()
else
  begin(false)
end
return with_let_in({ DONE, STORED, revision })
