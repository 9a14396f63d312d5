-- Writes nothing, and is refused whenever the server refuses writes: it is out of memory, a replica, or misses replicas.
--
-- KEYS[1]    any key: the index of all queues
-- Returns    { DONE }
-- Cost       O(1)
return { DONE }
