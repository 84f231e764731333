// Package model keeps the users: in an embedded database, with a cache in front.
package model

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// lockWait is how long OpenStore waits for another process to close the file: long
// enough for one that is just stopping.
const lockWait = time.Second

// ErrNotFound is returned for a user that the database does not have. It is the error that
// models made by goctl have, sqlx.ErrNotFound, so that NotFoundExpire applies.
var ErrNotFound = sql.ErrNoRows

var bucket = []byte("users")

// User is a row of the database.
type User struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
	City  string `json:"city"`
}

// Store is the database: a bbolt file that one process has open at a time.
type Store struct {
	// Delay is how much longer Get is made to take on average, as if the database were across
	// a network; 0 is no longer. It is set before the store is used.
	Delay time.Duration

	health atomic.Int32 // a Health
	db     *bolt.DB
}

// OpenStore opens the database file, and creates it with fill made-up users if
// it is new.
func OpenStore(path string, fill int) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("cannot make a directory for the database (-db chooses another file): %w", err)
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: lockWait})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("the database %s is open in another process: stop that one, "+
			"or give this one a file of its own with -db", path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the database %s (-db chooses another file): %w", path, err)
	}
	s := &Store{db: db}
	if err := s.seed(fill); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot fill the database %s: %w", path, err), db.Close())
	}
	return s, nil
}

// Path returns the name of the database file.
func (s *Store) Path() string { return s.db.Path() }

// Get returns a user, or ErrNotFound.
func (s *Store) Get(ctx context.Context, id int64) (u User, err error) {
	if err := s.reach(ctx); err != nil {
		return User{}, err
	}
	err = s.db.View(func(tx *bolt.Tx) error {
		row := tx.Bucket(bucket).Get(rowKey(id))
		if row == nil {
			return ErrNotFound
		}
		return json.Unmarshal(row, &u) // here, as the bytes belong to the transaction
	})
	return u, err
}

// Put writes a user, new or not.
func (s *Store) Put(u User) error {
	return s.db.Update(func(tx *bolt.Tx) error { return putRow(tx.Bucket(bucket), u) })
}

// Delete removes a user, or returns ErrNotFound.
func (s *Store) Delete(id int64) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		b, key := tx.Bucket(bucket), rowKey(id)
		if b.Get(key) == nil {
			return ErrNotFound
		}
		return b.Delete(key)
	})
}

// Close waits for the running transactions and closes the file.
func (s *Store) Close() error { return s.db.Close() }

func putRow(b *bolt.Bucket, u User) error {
	row, err := json.Marshal(u)
	if err != nil {
		return err
	}
	return b.Put(rowKey(u.ID), row)
}

// rowKey is big-endian, so that the file is in the order of the ids.
func rowKey(id int64) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(id))
}
