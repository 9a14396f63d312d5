-- Records the result of a purge run. The key may be on another cluster node than the queues.
--
-- KEYS[1]    the record of the last run
-- ARGV[1]    now in us, or ''
-- ARGV[2..8] how long it took in ms, queues, failed, expired, tombstones, admitted, whether it was unfinished
-- Returns    { DONE }
-- Cost       O(1)
begin_clock(ARGV)
call(
  'HSET', KEYS[1], 'at', clock_text, 'took_ms', ARGV[2], 'queues', ARGV[3], 'failed', ARGV[4], 'expired', ARGV[5],
  'tombstones', ARGV[6], 'admitted', ARGV[7], 'unfinished', ARGV[8]
)
return { DONE }
