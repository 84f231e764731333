package gozero

// CloseAll is what go-zero calls when the service ends. proc.Shutdown calls it once.
func CloseAll() { open.closeAll() }

// ToClose returns how many caches would be closed.
func ToClose() int {
	open.mu.Lock()
	defer open.mu.Unlock()
	return len(open.closes)
}
