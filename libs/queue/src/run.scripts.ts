/**
 * Lua of the run log. Each script is one atomic step; `KEYS` and `ARGV` are listed above it. Times are epoch milliseconds of the Redis clock,
 * the one clock that every process shares.
 */

/**
 * Bound, fair tag and entry in the set of open runs. Start-time fair queueing: `tag = max(V, last[tenant] + 1)`. A tenant may have as many open runs as
 * there are free places, and no more: whoever comes next still finds some. That takes half of all at least, so nothing is counted before.
 * KEYS open, fair. ARGV tenant, member, deadline, bound. Answer {1, tag}, {0, open runs}, or {2, open runs of the tenant}.
 */
export const ADMIT = `
local open = redis.call('ZCARD', KEYS[1])
local free = tonumber(ARGV[4]) - open
if free <= 0 then return {0, open} end
if open >= free then
  local own = 0
  local start = ARGV[1] .. ' '
  for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    if string.sub(member, 1, #start) == start then own = own + 1 end
  end
  if own >= free then return {2, own} end
end
if open == 0 then redis.call('DEL', KEYS[2]) end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[2])
local v = tonumber(redis.call('HGET', KEYS[2], 'v') or '1')
local last = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '0')
local tag = math.min(math.max(v, last + 1), 2097151)
redis.call('HSET', KEYS[2], ARGV[1], tag)
return {1, tag}`;

/**
 * The fence. KEYS owner, cancel, events, fair. ARGV mark, ttl, tag, entry ('' for none; left out when the stream has one). Answer claimed,
 * cancelled or taken.
 * A cancelled run is claimed too: the claimer reports it.
 */
export const CLAIM = `
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 'taken' end
local v = tonumber(redis.call('HGET', KEYS[4], 'v') or '1')
if redis.call('EXISTS', KEYS[4]) == 1 and tonumber(ARGV[3]) > v then redis.call('HSET', KEYS[4], 'v', ARGV[3]) end
if redis.call('EXISTS', KEYS[2]) == 1 then return 'cancelled' end
if ARGV[4] ~= '' and redis.call('XLEN', KEYS[3]) == 0 then
  redis.call('XADD', KEYS[3], '*', 'entry', ARGV[4])
  redis.call('PEXPIRE', KEYS[3], ARGV[2])
end
return 'claimed'`;

/**
 * The first entry of a run that nobody claimed yet. KEYS owner, events. ARGV entry, ttl. Answer 1, or 0 when it was claimed or has entries.
 */
export const ANNOUNCE = `
if redis.call('EXISTS', KEYS[1], KEYS[2]) > 0 then return 0 end
redis.call('XADD', KEYS[2], '*', 'entry', ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 1`;

/** KEYS owner, events. ARGV mark, length, ttl, entries… Answer 1, or 0 when the mark is no longer ours. */
export const APPEND = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
for i = 4, #ARGV do redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], '*', 'entry', ARGV[i]) end
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1`;

/**
 * The last entries of the stream, the result at their end; nobody can act for the run after it. KEYS owner, events.
 * ARGV mark, ttl, entries…
 */
export const FINISH = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
for i = 3, #ARGV do redis.call('XADD', KEYS[2], '*', 'entry', ARGV[i]) end
redis.call('PEXPIRE', KEYS[2], ARGV[2])
redis.call('SET', KEYS[1], 'done', 'KEEPTTL')
return 1`;

/**
 * The gateway ends a run in place of a dead or absent executor. KEYS owner, events. ARGV expected mark ('' for none), entry, ttl, owner ttl.
 * Answer 1, or 0 when the mark is another one by now.
 */
export const SEIZE = `
local mark = redis.call('GET', KEYS[1]) or ''
if mark ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], 'gateway', 'PX', ARGV[4])
redis.call('XADD', KEYS[2], '*', 'entry', ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1`;

/** KEYS executors. ARGV id, report JSON without its time. */
export const BEAT = `
local t = redis.call('TIME')
local report = cjson.decode(ARGV[2])
report.seenAt = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(report))
return 1`;
