-- Starts a new epoch: the line is emptied and older tickets become void.
--
-- KEYS[1..8] line, active, pool, ended, state, settings, joins, networks
-- ARGV[1]    now in us, or ''
-- Returns    { DONE, epoch, revision }
-- Cost       O(1)
-- Rules      11
change_rules({ epoch = math.max(math.floor(now / SECOND), rules.epoch + 1), revision = rules.revision + 1 })
begin_state(false, false)
return { DONE, rules.epoch, rules.revision }
