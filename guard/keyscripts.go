package guard

import "github.com/redis/go-redis/v9"

// Statuses that keys carry.
const (
	statusProcessing = "PROCESSING"
	statusSuccess    = "SUCCESS"
)

// acquireString takes a free string key.
//
//	KEYS[1]  the key
//	ARGV[1]  the value to write
//	ARGV[2]  TTL in ms
//
// It returns {"taken", ""} if the key was free and is now written, else the
// key's type and, for a string, its value; such a key is left alone.
var acquireString = redis.NewScript(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
	return {'taken', ''}
end
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'string' then
	return {kind, ''}
end
return {kind, redis.call('GET', KEYS[1])}
`)

// acquireHash takes a free hash key, or one whose last run failed.
//
//	KEYS[1]  the key
//	ARGV[1]  the run's token
//	ARGV[2]  TTL in ms
//	ARGV[3]  context, "" for none
//
// It returns first, done, held or unreadable; only with first was anything
// written. startTime is Redis's own clock, so that all consumers share one.
var acquireHash = redis.NewScript(`
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'none' and kind ~= 'hash' then
	return 'unreadable'
end
if kind == 'hash' then
	local status = redis.call('HGET', KEYS[1], 'status')
	if status == 'SUCCESS' or status == 'FINISHED' then
		return 'done'
	end
	if status == 'PROCESSING' or status == 'PENDING' then
		return redis.call('HGET', KEYS[1], 'token') == ARGV[1] and 'first' or 'held'
	end
	if status ~= 'FAILED' then
		return 'unreadable'
	end
end
local now = redis.call('TIME')
local ms = now[1] .. string.format('%03d', math.floor(now[2] / 1000))
redis.call('HSET', KEYS[1], 'status', 'PROCESSING', 'startTime', ms, 'token', ARGV[1])
redis.call('HSETNX', KEYS[1], 'attempts', '0')
redis.call('HDEL', KEYS[1], 'error')
if ARGV[3] ~= '' then
	redis.call('HSET', KEYS[1], 'context', ARGV[3])
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'first'
`)

// markStatus turns PROCESSING into SUCCESS and keeps the TTL.
//
//	KEYS[1]  the key
//	ARGV[1]  the value that the run wrote
//
// It returns marked (also where it says SUCCESS already), not_owner or gone.
var markStatus = redis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then
	return 'gone'
end
if redis.call('TYPE', KEYS[1]).ok ~= 'string' then
	return 'not_owner'
end
local value = redis.call('GET', KEYS[1])
if value == 'SUCCESS' then
	return 'marked'
end
if value ~= ARGV[1] then
	return 'not_owner'
end
redis.call('SET', KEYS[1], 'SUCCESS', 'KEEPTTL')
return 'marked'
`)

// confirmFlag looks whether a flag is still its run's; a flag has no other
// word for done, so nothing is written.
//
//	KEYS[1]  the key
//	ARGV[1]  the value that the run wrote
//
// It returns marked, not_owner or gone.
var confirmFlag = redis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then
	return 'gone'
end
if redis.call('TYPE', KEYS[1]).ok ~= 'string' or redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return 'not_owner'
end
return 'marked'
`)

// markHash turns a hash into SUCCESS and keeps the TTL.
//
//	KEYS[1]  the key
//	ARGV[1]  the run's token
//
// It returns marked, not_owner or gone.
var markHash = redis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then
	return 'gone'
end
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' or redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then
	return 'not_owner'
end
redis.call('HSET', KEYS[1], 'status', 'SUCCESS')
return 'marked'
`)

// releaseString deletes a string key while it is still its run's.
//
//	KEYS[1]  the key
//	ARGV[1]  the value that the run wrote
//
// It returns released, not_owner or gone.
var releaseString = redis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then
	return 'gone'
end
if redis.call('TYPE', KEYS[1]).ok ~= 'string' or redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return 'not_owner'
end
redis.call('DEL', KEYS[1])
return 'released'
`)

// failHash turns a running hash into FAILED, counts the attempt and keeps the
// TTL.
//
//	KEYS[1]  the key
//	ARGV[1]  the run's token
//	ARGV[2]  the error's text
//
// It returns released (also where this run is marked as failed already),
// not_owner or gone.
var failHash = redis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then
	return 'gone'
end
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' or redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then
	return 'not_owner'
end
local status = redis.call('HGET', KEYS[1], 'status')
if status == 'FAILED' then
	return 'released'
end
if status ~= 'PROCESSING' then
	return 'not_owner'
end
redis.call('HSET', KEYS[1], 'status', 'FAILED', 'error', ARGV[2])
redis.call('HINCRBY', KEYS[1], 'attempts', 1)
return 'released'
`)

// probe writes a key and deletes it in one step.
//
//	KEYS[1]  a key that nobody uses
//
// It returns 1.
var probe = redis.NewScript(`
redis.call('SET', KEYS[1], '1', 'PX', 1000)
return redis.call('DEL', KEYS[1])
`)
