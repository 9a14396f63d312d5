-- Begins a new epoch: the line is empty, older tickets are void.
--
-- KEYS[1..6] line, active, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- Returns    { DONE, epoch, revision }
-- Cost       O(1)
-- Rules      11
epoch = math.max(math.floor(now / SECOND), epoch + 1)
revision = revision + 1
save_rules()
begin(false, false)
return { DONE, epoch, revision }
