package gozero

// FreshLog makes LogStats start again, in the bubble of a test. An earlier log goes on by
// itself.
func FreshLog() { process = new(statLog) }

// Logging reports whether the log is running.
func Logging() bool {
	process.mu.Lock()
	defer process.mu.Unlock()
	return process.running
}

// CloseAll is what go-zero calls when the service ends. proc.Shutdown calls it once.
func CloseAll() { open.closeAll() }

// ForgetAll makes CloseAll close only caches that are made later. A bubble of synctest must
// not close those of other tests.
func ForgetAll() {
	open.mu.Lock()
	defer open.mu.Unlock()
	clear(open.closes)
}

// ToClose returns how many caches would be closed.
func ToClose() int {
	open.mu.Lock()
	defer open.mu.Unlock()
	return len(open.closes)
}
