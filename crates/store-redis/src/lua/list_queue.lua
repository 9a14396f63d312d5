-- Lists a queue in the index of all queues, which may be on another cluster node and is written
-- after the queue.
--
-- KEYS[1]    the index: queue -> revision of its settings, 0 for one that was removed
-- ARGV[1]    the queue
-- ARGV[2]    the revision
-- ARGV[3]    CREATED: regardless of the index; STORED: unless a later revision got there first;
--            REMOVED: only if the queue is listed
-- Returns    { DONE }
-- Cost       O(1)
local how = tonumber(ARGV[3])
local listed = tonumber(redis.call('HGET', KEYS[1], ARGV[1]))
if how == CREATED
  or (how == STORED and (not listed or listed < tonumber(ARGV[2])))
  or (how == REMOVED and listed) then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
return { DONE }
