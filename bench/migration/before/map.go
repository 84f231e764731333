package before

import (
	"sync"
	"time"
)

// Names caches the names of users for an hour.
type Names struct {
	mu    sync.RWMutex
	names map[int64]named
	load  func(id int64) (string, error)
}

type named struct {
	name  string
	until time.Time
}

func NewNames(load func(id int64) (string, error)) *Names {
	return &Names{names: make(map[int64]named), load: load}
}

func (n *Names) Name(id int64) (string, error) {
	n.mu.RLock()
	v, ok := n.names[id]
	n.mu.RUnlock()
	if ok && time.Now().Before(v.until) {
		return v.name, nil
	}
	name, err := n.load(id) // by everybody who comes meanwhile
	if err != nil {
		return "", err
	}
	n.mu.Lock()
	n.names[id] = named{name, time.Now().Add(time.Hour)}
	n.mu.Unlock()
	return name, nil
}

func (n *Names) Forget(id int64) {
	n.mu.Lock()
	delete(n.names, id)
	n.mu.Unlock()
}

// Sweep is called every minute, or the map would only grow.
func (n *Names) Sweep() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, v := range n.names {
		if !time.Now().Before(v.until) {
			delete(n.names, id)
		}
	}
}
