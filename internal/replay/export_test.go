package replay

// The statements that page through the attempts of one message.
const (
	AttemptsBeforeSQL = attemptsBefore
	AttemptsAfterSQL  = attemptsAfter
)
