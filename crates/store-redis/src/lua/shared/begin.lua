-- An empty line whose state begins now. `taken_back` says that there was a state before and the store lost it.
-- O(1): what was there is freed in the background.
local function begin(taken_back)
  call('UNLINK', LINE, PLACES, POOL, ENDED, STATE)
  call('HSET', STATE, 'began', now, 'lost', taken_back and 1 or 0)
end
