package keys

// expirySlack is how far apart two readings of one expiry may lie, in
// milliseconds: before Redis 7.0 it can only be computed.
const expirySlack = 50

// Refusal returns what a release of k, which is not to go, is answered with
// when it was seen as token says: the word that the release itself would have,
// without asking Redis again. It is never Released.
func (k Key) Refusal(token string) ReleaseResult {
	saw, errSaw := decodeSeen(token)
	now, errNow := decodeSeen(k.Seen)
	switch {
	case k.State == Absent:
		return Gone
	case k.State == Unreadable && k.Why == WhyType:
		return WrongType
	case k.State == Succeeded, k.State == Unreadable && (k.Why == WhyValue || k.Why == WhyNoStatus):
		return Protected
	case errSaw != nil, errNow != nil, saw.Type != now.Type, saw.Print != now.Print:
		return Changed
	case saw.Expiry < now.Expiry-expirySlack, saw.Expiry > now.Expiry+expirySlack:
		return Reacquired
	}
	return TooYoung
}
