-- Removes up to `limit` tombstones that stand no longer; returns how many. O(limit * log n).
local function clear_tombstones(limit)
  local due = due_in(ENDED, limit)
  if #due > 0 then call('ZREM', ENDED, unpack(due)) end
  return #due
end
