-- redis.call, which exists only while a function runs, and the clock.
local call
local clock, clock_text

-- Reads the clock. args[1] is the time in microseconds since 1970 if a test sets it, otherwise ''
-- for the server's time.
local function begin_clock(args)
  call = redis.call
  clock_text = args[1]
  if clock_text == '' then
    local time = call('TIME')
    clock_text = time[1] .. string.sub('000000' .. time[2], -6)
  end
  clock = tonumber(clock_text)
end


-- A whole number as an argument. Redis takes several times as long to turn a number into text, as if it were a fraction.
local function whole(number)
  return string.format('%d', number)
end
