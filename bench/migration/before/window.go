package before

import (
	"sync"
	"time"
)

// TwoMaps counts requests of clients in windows of time, as the local counter of httprate does:
// in a map for the latest window and one for the window before it, under one mutex.
type TwoMaps struct {
	length           time.Duration
	mu               sync.Mutex
	window           time.Time // the latest
	latest, previous map[string]int
}

func NewTwoMaps(length time.Duration) *TwoMaps {
	return &TwoMaps{length: length, latest: make(map[string]int), previous: make(map[string]int)}
}

func (m *TwoMaps) Add(client string, window time.Time, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.window.Equal(window) {
		if !m.window.Equal(window.Add(-m.length)) {
			clear(m.latest)
		}
		clear(m.previous)
		m.latest, m.previous = m.previous, m.latest
		m.window = window
	}
	m.latest[client] += n
}

func (m *TwoMaps) Counts(client string, window time.Time) (latest, previous int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.window.Equal(window):
		return m.latest[client], m.previous[client]
	case m.window.Equal(window.Add(-m.length)):
		return 0, m.latest[client]
	}
	return 0, 0
}
