package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"
)

// A user is a row of the database. Its version counts its changes.
type user struct {
	ID      int
	Name    string
	Version int
}

var bucket = []byte("users")

// A database is a bbolt file.
type database struct{ bolt *bolt.DB }

func openDatabase(file string, users int) (*database, error) {
	b, err := bolt.Open(file, 0o600, &bolt.Options{Timeout: time.Second, NoSync: true}) // the file is removed at the end
	if err != nil {
		return nil, err
	}
	err = b.Update(func(tx *bolt.Tx) error {
		rows, err := tx.CreateBucketIfNotExists(bucket)
		for id := 0; id < users && err == nil; id++ {
			err = put(rows, user{ID: id, Name: fmt.Sprintf("user %d", id)})
		}
		return err
	})
	if err != nil {
		b.Close()
		return nil, err
	}
	return &database{bolt: b}, nil
}

func put(rows *bolt.Bucket, u user) error {
	data, err := json.Marshal(u)
	if err != nil {
		return err
	}
	return rows.Put(rowKey(u.ID), data)
}

func rowKey(id int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(id)) }

func get(tx *bolt.Tx, id int) (u user, err error) {
	data := tx.Bucket(bucket).Get(rowKey(id))
	if data == nil {
		return u, fmt.Errorf("no user %d", id)
	}
	return u, json.Unmarshal(data, &u)
}

// read returns a user.
func (d *database) read(id int) (u user, err error) {
	err = d.bolt.View(func(tx *bolt.Tx) error {
		u, err = get(tx, id)
		return err
	})
	return u, err
}

// change gives a user a new version, and returns it.
func (d *database) change(id int) (version int, err error) {
	err = d.bolt.Update(func(tx *bolt.Tx) error {
		u, err := get(tx, id)
		if err != nil {
			return err
		}
		u.Version++
		version = u.Version
		return put(tx.Bucket(bucket), u)
	})
	return version, err
}
