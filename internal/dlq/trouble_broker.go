package dlq

import "github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"

// brokerTroubles are the reasons for which a broker gives nothing. The first
// that matches wins.
var brokerTroubles = []struct {
	err   error
	state SourceState
	kind  string
	why   string // {queue} and {err} stand for the queue's name and what the broker said
	pace  pace
}{
	{
		rabbit.ErrPoison, SourceBlocked, "poison",
		"The message at the head of {queue} cannot be read ({err}). Nothing behind it is drained. " +
			"If its headers are larger than the frames that the console takes, raise the broker's frame_max in the configuration; " +
			"else take it off with the broker's management UI; draining then goes on by itself. Nothing is tried meanwhile, because a quorum queue counts each try; Resume tries once more.",
		paceNever,
	},
	{
		rabbit.ErrQueueMissing, SourceMissing, "missing",
		"The broker has no queue {queue}. Nothing is drained until it is declared, or its name in the configuration is put right.",
		paceLook,
	},
	{
		rabbit.ErrWrongType, SourceBlocked, "wrong type",
		"{queue} is a stream, from which nothing can be taken off. Nothing is drained. Dead-letter to a classic or quorum queue, and name that in the configuration.",
		paceSlow,
	},
	{
		rabbit.ErrLocked, SourceBlocked, "locked",
		"{queue} is in exclusive use by somebody else ({err}). Nothing is drained until that one lets go of it.",
		paceLook,
	},
	{
		rabbit.ErrAccessRefused, SourceBlocked, "access refused",
		"The broker does not let the console's user at {queue} ({err}). Nothing is drained, and messages stay on the broker. " +
			"Grant the user `read` on it, or put user and password of the broker's URL right; draining then goes on by itself.",
		paceLook,
	},
	{
		rabbit.ErrVhostMissing, SourceMissing, "no vhost",
		"The broker has no such virtual host, and so no queue {queue} ({err}). Nothing is drained until it is made, or the broker's URL is put right.",
		paceLook,
	},
	{
		rabbit.ErrVhostDown, SourceDown, "vhost down",
		"The virtual host of {queue} is down on the broker ({err}). Nothing is drained. Look into the broker's log and restart the virtual host.",
		paceSoon,
	},
	{
		rabbit.ErrLimit, SourceBlocked, "limit",
		"The broker takes no more connections or channels ({err}). Nothing is drained, and messages stay on the broker. Raise its limit, or close some.",
		paceLook,
	},
	{
		rabbit.ErrConsumerTimeout, SourceBlocked, "consumer timeout",
		"Storing took longer than the broker lets a message be held ({err}), so it took them back. What was stored is known, and is not stored twice. " +
			"Raise consumer_timeout, or see why Postgres is slow; it is tried again, ever more slowly.",
		paceSlow,
	},
	{
		rabbit.ErrCancelled, SourceDown, "cancelled",
		"The broker ended the subscription of {queue} though the queue is there: it moves, or a node went down. Nothing is lost, and it is tried again.",
		paceSoon,
	},
}
