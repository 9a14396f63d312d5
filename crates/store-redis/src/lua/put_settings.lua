-- Writes a queue's settings, which apply from the next request on; creates the queue if it does not
-- exist.
--
-- KEYS[1..8] line, active, pool, ended, state, settings, joins, networks
-- ARGV[1]    now in us, or ''
-- ARGV[2]    ALWAYS, IF_REVISION, RESTORE or REPLACE_UNREADABLE
-- ARGV[3]    for IF_REVISION the revision that is to be replaced, else ''
-- ARGV[4]    the settings as a JSON document
-- ARGV[5]    the rules, packed as a map; a rule that is not set is left out
-- ARGV[6]    the events, packed, and for a queue that follows them what it does between them. '' for a queue without events that
--            follows none
-- Returns    { DONE, STORED, revision }, { DONE, CREATED, revision }, { DONE, CONFLICT, revision } or { DONE, REMOVED, 0 }
-- Cost       O(ADVANCE_BATCH * log n)
-- Rules      2, 3, 7, 11, 13
local mode = tonumber(ARGV[2])
local given = cmsgpack.unpack(ARGV[5])

-- Rules unknown to this version are kept.
local function write_settings()
  for field, value in pairs(rules or {}) do
    if not KNOWN_RULES[field] then given[field] = value end
  end
  write_rules(given)
  call('HSET', SETTINGS, 'document', ARGV[4])
  schedule = nil
  call('HDEL', SETTINGS, 'schedule', 'events')
  if ARGV[6] == '' then return end
  local plan = cmsgpack.unpack(ARGV[6])
  call('HSET', SETTINGS, 'events', cmsgpack.pack(plan.events))
  if plan.between_events then follow(plan.events, plan.between_events) end
end

if not rules then
  if mode == IF_REVISION then return { UNKNOWN_QUEUE } end
  local removed = tonumber(call('HGET', SETTINGS, 'removed'))
  local was_lost = mode == RESTORE or mode == REPLACE_UNREADABLE
  if was_lost and removed then return { DONE, REMOVED, 0 } end
  if removed then given.revision = math.max(given.revision, removed + 1) end
  call('UNLINK', SETTINGS)
  write_settings()
  -- Settings that a process holds of a removed queue do not replace those of a new one.
  begin_state(was_lost, not removed)
  -- Neither do those that it holds replace what was written over unreadable ones, whose epoch the tickets bring back.
  if mode == REPLACE_UNREADABLE then call('HSET', STATE, 'restored', 0) end
  return { DONE, CREATED, rules.revision }
end

local before, pace_before, mode_before, was_full, restored = rules, pace, effective_mode(), free_slots() <= 0, 0
local opened_at = limits.open_since()
if mode == RESTORE then
  -- Newer settings replace those that another process restored.
  local newer = given.epoch > before.epoch or given.epoch == before.epoch and given.revision > before.revision
  if not newer or call('HGET', STATE, 'restored') ~= '1' then return { DONE, CONFLICT, before.revision } end
  restored = 1
elseif mode == REPLACE_UNREADABLE or mode == IF_REVISION and tonumber(ARGV[3]) ~= before.revision then
  return { DONE, CONFLICT, before.revision }
else
  given.revision = before.revision + 1
end

-- Units earned until now were earned at the old rate.
if given.epoch == before.epoch and before.admissions_per_minute then buckets.save_credit(buckets.credit_now()) end
write_settings()
if rules.epoch == before.epoch then
  continuity.void_tickets(before)
  call('HDEL', STATE, 'empty_since')
  call('HSET', STATE, 'provisional', restored, 'restored', restored, 'opened_at', opened_at)
  if not rules.protection.show_networks then limits.forget_networks() end
  find_recovery()
  advance()
  change_pace(mode_before, was_full, before, pace_before)
else
  begin_state(restored == 1, restored == 1)
end
return { DONE, STORED, rules.revision }
