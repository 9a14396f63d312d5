-- Removes a queue with all that belongs to it. A marker in its place keeps a process that still holds its settings from
-- restoring it.
--
-- KEYS[1..6] line, active, pool, ended, state, settings
-- ARGV[1]    now in us, or ''
-- ARGV[2]    for how many seconds the marker stays
-- Returns    { DONE, 1 } if the queue was there, { DONE, 0 } if it was not
-- Cost       O(1): what was there is freed in the background
if not rules then return { DONE, 0 } end
call('UNLINK', LINE, ACTIVE, POOL, ENDED, STATE, SETTINGS)
call('HSET', SETTINGS, 'removed', now)
call('EXPIRE', SETTINGS, ARGV[2])
return { DONE, 1 }
