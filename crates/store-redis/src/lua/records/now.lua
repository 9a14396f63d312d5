-- The clock, in front of every script over records: ARGV[1] is the instant in microseconds since 1970 where a test sets
-- the clock, else '' for the server's own.
local call = redis.call
local now_text = ARGV[1]
if now_text == '' then
  local time = call('TIME')
  now_text = time[1] .. string.sub('000000' .. time[2], -6)
end
local now = tonumber(now_text)
