package dlq

// nServiceBusFamily is NServiceBus with its central error queue, and with
// ServiceControl beside it.
var nServiceBusFamily = family{
	name: "nservicebus", prefixes: []string{"NServiceBus.", "ServiceControl."},
	read: func(r *specimen) found {
		const info = "NServiceBus.ExceptionInfo."
		return found{
			failure: r.failure(info+"ExceptionType", info+"Message", info+"StackTrace"),
			retries: firstCount(r, "NServiceBus.Retries", "NServiceBus.FLRetries"),
			queue:   nameOf(r.text("NServiceBus.FailedQ")),
			last:    momentOf(r.headers["NServiceBus.TimeOfFailure"], r.arrived),
		}
	},
	// ServiceControl's own list. With its Retry headers on it an endpoint would
	// send acks to ServiceControl that it does not await.
	offPrefixes: []string{
		"NServiceBus.Retries", "NServiceBus.FLRetries", "NServiceBus.FailedQ", "NServiceBus.TimeOfFailure",
		"NServiceBus.ExceptionInfo.", "ServiceControl.EditOf", "ServiceControl.Retry.",
	},
	mend: func(r *specimen, u *Unit) {
		if r.properties.MessageID == "" {
			u.warn(WarnNoMessageID)
		}
	},
}
