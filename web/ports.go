package web

// messages is all that web asks of the store of dead letters; the parts stand
// with their callers.
type messages interface {
	messageLister
	messageReader
	messageActs
	bodyReader
	figureReader
	keyNamer
	copyKeeper
	originKeeper
}

// replays is all that web asks of package replay.
type replays interface {
	unitReader
	preflighter
	manyPreflighter
	replayer
	replayReader
	attemptReader
	settler
	keyKeeper
	reporter
}
