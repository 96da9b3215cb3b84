package rabbit

import "time"

// SetConfirmTimeout shortens the wait for a confirm, so that tests of a broker
// that does not answer need not take as long as operators may.
func (p *Publisher) SetConfirmTimeout(d time.Duration) { p.confirmTimeout = d }
