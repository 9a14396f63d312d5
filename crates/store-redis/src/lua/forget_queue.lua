-- Drops a queue that was removed from the index of all queues.
--
-- KEYS[1]    the index: queue -> revision of its settings, 0 for one that was removed
-- ARGV[1]    the queue
-- Returns    { DONE }
-- Cost       O(1)
if redis.call('HGET', KEYS[1], ARGV[1]) == '0' then redis.call('HDEL', KEYS[1], ARGV[1]) end
return { DONE }
