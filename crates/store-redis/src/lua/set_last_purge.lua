-- Notes what a round of the purge did, which lies beside the queues on a node of its own.
--
-- KEYS[1]    the record of the last round
-- ARGV[1]    now in us, or ''
-- ARGV[2..8] how long it took in ms, queues, failed, expired, tombstones, admitted, whether it was left unfinished
-- Returns    { DONE }
-- Cost       O(1)
local now = ARGV[1]
if now == '' then
  local time = redis.call('TIME')
  now = time[1] .. string.sub('000000' .. time[2], -6)
end
redis.call(
  'HSET', KEYS[1], 'at', now, 'took_ms', ARGV[2], 'queues', ARGV[3], 'failed', ARGV[4], 'expired', ARGV[5],
  'tombstones', ARGV[6], 'admitted', ARGV[7], 'unfinished', ARGV[8]
)
return { DONE }
