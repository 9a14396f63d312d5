-- redis.call, which there is only while a function runs, and the clock.
local call
local clock, clock_text

-- Reads the clock: args[1] is the instant in microseconds since 1970 where a test sets it, else '' for the server's own.
local function begin_clock(args)
  call = redis.call
  clock_text = args[1]
  if clock_text == '' then
    local time = call('TIME')
    clock_text = time[1] .. string.sub('000000' .. time[2], -6)
  end
  clock = tonumber(clock_text)
end

