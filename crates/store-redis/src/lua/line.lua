-- Returns what is true of a line for everyone. Does not change the state.
--
-- KEYS[1..8] line, active, pool, ended, state, settings, joins, networks
-- ARGV[1]    now in us, or ''
-- Returns    the reply of stats.lua, then, if anybody waits, the first session and the checkpoints: rank and arrival of each, in order. Ranks 1 to CHECKPOINTS_EXACT,
--            then each 1.5 times the one before, and the last
-- Cost       O(log n) a checkpoint; 44 at 1,000,000 sessions
-- Rules      17
local reply = stats_reply()
local filled = #reply

if waiting > 0 then
  filled = filled + 1
  reply[filled] = call('ZRANGE', LINE, 0, 0)[1]
end

local function append_checkpoint(rank)
  local found = call('ZRANGE', LINE, rank - 1, rank - 1, 'WITHSCORES')
  reply[filled + 1], reply[filled + 2] = rank, found[2]
  filled = filled + 2
end

local rank = 1
while rank < waiting do
  append_checkpoint(rank)
  rank = rank < CHECKPOINTS_EXACT and rank + 1 or math.floor(rank * 3 / 2)
end
if waiting > 0 then append_checkpoint(waiting) end
return reply
