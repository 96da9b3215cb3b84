package dlq

// enqueueFamily is php-enqueue, which rejects and leaves no reason.
var enqueueFamily = family{
	name: "php-enqueue", prefixes: []string{"enqueue."},
	read: func(r *specimen) found {
		return found{retries: countOf(r.headers["enqueue.redelivery_count"])}
	},
	off: []string{"enqueue.redelivery_count"},
}
