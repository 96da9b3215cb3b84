package dlq

// watermillFamily is Watermill's poison queue. Its consumers refuse a message
// with any header that is no string.
var watermillFamily = family{
	name:  "watermill",
	marks: []string{"reason_poisoned", "topic_poisoned", "handler_poisoned", "subscriber_poisoned", "_watermill_message_uuid"},
	read: func(r *specimen) found {
		return found{failure: r.failure("", "reason_poisoned", ""), queue: nameOf(r.text("topic_poisoned"))}
	},
	off: []string{"reason_poisoned", "topic_poisoned", "handler_poisoned", "subscriber_poisoned"},
	mend: func(_ *specimen, u *Unit) {
		for name, value := range u.Headers {
			if _, text := value.(string); !text && !isCommonOff(name) {
				u.off(name)
				u.edit(EditStringsOnly)
			}
		}
	},
}
