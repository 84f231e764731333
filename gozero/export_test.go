package gozero

// FreshLog has LogStats begin anew, in the bubble of a test. What was started
// before goes on by itself.
func FreshLog() { process = new(statLog) }

// Logging reports whether a minute is being counted.
func Logging() bool {
	process.mu.Lock()
	defer process.mu.Unlock()
	return process.running
}

// CloseAll is what go-zero calls when the service ends. proc.Shutdown calls it once.
func CloseAll() { open.closeAll() }

// ToClose returns how many caches would be closed.
func ToClose() int {
	open.mu.Lock()
	defer open.mu.Unlock()
	return len(open.closes)
}
