package main

import (
	"sync"
	"time"
)

// way is the time to the database, and also that back.
const way = 2 * time.Millisecond

// An item is a row of the database. Every change gives it the next version.
type item struct {
	ID      string `json:"id"`
	Version int    `json:"version"`
	Deleted bool   `json:"deleted,omitempty"`
}

// goneError says that an item was deleted.
type goneError struct{ item item }

func (e *goneError) Error() string { return "item " + e.item.ID + " was deleted" }

// A database has all items from the start, at version 0.
type database struct {
	mu   sync.Mutex
	rows map[string]item
}

func newDatabase() *database { return &database{rows: make(map[string]item)} }

func (d *database) find(id string) (item, error) {
	row := d.exec(id, func(*item) {})
	if row.Deleted {
		return item{}, &goneError{row}
	}
	return row, nil
}

func (d *database) save(id string) item {
	return d.exec(id, func(row *item) {
		row.Version++
		row.Deleted = false
	})
}

func (d *database) remove(id string) item {
	return d.exec(id, func(row *item) {
		row.Version++
		row.Deleted = true
	})
}

// exec does something with a row and returns what it is then.
func (d *database) exec(id string, do func(row *item)) item {
	time.Sleep(way)
	defer time.Sleep(way)
	d.mu.Lock()
	defer d.mu.Unlock()
	row := d.rows[id]
	row.ID = id
	do(&row)
	d.rows[id] = row
	return row
}
