-- Removes a queue and all its data. A marker prevents a process that still has its settings from
-- restoring it. It is the revision of the queue, after which a new queue of this ID continues: otherwise a process that did not notice
-- the removal would take its own settings for those of the new queue.
--
-- KEYS[1..8] line, active, pool, ended, state, settings, joins, networks
-- ARGV[1]    now in us, or ''
-- ARGV[2]    TTL of the marker in seconds
-- Returns    { DONE, 1 } if the queue was there, { DONE, 0 } if it was not
-- Cost       O(1): what was there is freed in the background
if not rules then return { DONE, 0 } end
call('UNLINK', LINE, ACTIVE, POOL, ENDED, STATE, SETTINGS, JOIN_COUNTERS, NETWORKS)
call('HSET', SETTINGS, 'removed', rules.revision)
call('EXPIRE', SETTINGS, ARGV[2])
return { DONE, 1 }
