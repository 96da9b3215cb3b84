package keys

import "github.com/redis/go-redis/v9"

// releaseText frees a key only while it is still the one that an operator saw, and
// only where what it says lets it go.
//
//	KEYS[1]  the key
//	ARGV[1]  the Redis type that was seen
//	ARGV[2]  the print of the value that was seen (see raw.print)
//	ARGV[3]  the absolute expiry that was seen, in ms; -1 for none
//	ARGV[4]  the Redis type in which the key's space keeps its keys
//	ARGV[5]  where the state stands: "none" (a flag or a lock), "value" or "status"
//	ARGV[6]  the age in ms that the key must have passed
//	ARGV[7]  the TTL in ms that the consumer gives; 0: not known
//	ARGV[8]  words that say processing, with a space around each
//	ARGV[9]  words that say failed, with a space around each
//	ARGV[10] how many bytes of a value the print covers
//	ARGV[11] and on: the fields of a hash
//
// It returns what became of the key, one of the ReleaseResult constants, then
// Redis's time in ms, and then the key as it was just before: type, absolute
// expiry in ms, length and start of the value, and the fields. What is neither
// a word that says processing nor one that says failed is protected: in doubt
// the key stays. The age is judged by Redis's own clock, and a key whose age
// cannot be told is too young: each test asks for what lets the key go, so that
// what is no number lets nothing go. A startTime is one exactly where
// startMilli takes it for one.
const releaseText = `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local kind = redis.call('TYPE', KEYS[1]).ok
local value, fields, expiry, slack = '', {}, -2, 0

local function answer(result)
	local reply = {result, string.format('%.0f', now), kind, string.format('%.0f', expiry), tostring(#value),
		string.sub(value, 1, ARGV[10])}
	for i = 1, #ARGV - 10 do
		reply[6 + i] = fields[i] or false
	end
	return reply
end

if kind == 'none' then
	return answer('gone')
end

-- Before Redis 7.0 the expiry can only be computed, a little inexactly.
local at = redis.pcall('PEXPIRETIME', KEYS[1])
if type(at) == 'number' then
	expiry = at
else
	expiry = redis.call('PTTL', KEYS[1])
	slack = 50
	if expiry >= 0 then
		expiry = now + expiry
	end
end

if kind ~= ARGV[4] then
	return answer('type')
end

local said, print
if kind == 'hash' then
	fields = redis.call('HMGET', KEYS[1], unpack(ARGV, 11))
	local parts = {}
	for i, field in ipairs(fields) do
		parts[i] = field and (#field .. ':' .. field .. ';') or '-;'
	end
	print = redis.sha1hex(table.concat(parts))
	said = fields[1] or ''
else
	value = redis.call('GET', KEYS[1])
	print = redis.sha1hex(#value .. ':' .. string.sub(value, 1, ARGV[10]))
	said = value
end

local failed = false
if ARGV[5] ~= 'none' then
	local word = string.match(said, '^(%a+)$') or string.match(said, '^(%a+):') or '?'
	word = ' ' .. string.upper(word) .. ' '
	failed = string.find(ARGV[9], word, 1, true) ~= nil
	if not failed and not string.find(ARGV[8], word, 1, true) then
		return answer('protected')
	end
end

if kind ~= ARGV[1] or print ~= ARGV[2] then
	return answer('changed')
end
if not (math.abs(expiry - ARGV[3]) <= slack) then
	return answer('reacquired')
end

if not failed then
	local since = nil
	if kind == 'hash' then
		local start = fields[2] or ''
		if #start <= 15 and string.find(start, '^%d+$') then
			since = tonumber(start)
			if since < 946684800000 or since > 253402300799999 then
				since = nil
			end
		end
	elseif expiry > 0 and tonumber(ARGV[7]) > 0 then
		since = expiry - ARGV[7]
	end
	if not (since and now - since > tonumber(ARGV[6])) then
		return answer('too_young')
	end
end

redis.call('UNLINK', KEYS[1])
return answer('released')
`

// release knows the digest by which Redis finds the script.
var release = redis.NewScript(releaseText)
