package flight

import "time"

// An Observer counts what happens to loads. It is safe for concurrent use.
type Observer interface {
	TimedOut(after time.Duration) // a load has not ended within the time-out, and is not counted yet
	Queued(wait time.Duration)    // a load has waited for a permit
}
