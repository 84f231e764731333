package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
)

var bucket = []byte("users")

// A file is a database of bbolt, which all instances share, as only one process can open it.
type file struct{ bolt *bolt.DB }

func openFile() (database, error) {
	var f file
	empty, err := os.CreateTemp("", "fleet")
	if err != nil {
		return nil, err
	}
	empty.Close()
	if f.bolt, err = bolt.Open(empty.Name(), 0o600, &bolt.Options{Timeout: time.Second, NoSync: true}); err != nil {
		return nil, errors.Join(err, os.Remove(empty.Name()))
	}
	err = f.bolt.Update(func(tx *bolt.Tx) error {
		rows, err := tx.CreateBucket(bucket)
		for id := 0; id < users && err == nil; id++ {
			err = put(rows, user{ID: id, Name: fmt.Sprintf("user %d", id)})
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, f.end())
	}
	return f, nil
}

func (f file) end() error {
	name := f.bolt.Path()
	return errors.Join(f.bolt.Close(), os.Remove(name))
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

func (f file) read(_ context.Context, id int) (u user, err error) {
	err = f.bolt.View(func(tx *bolt.Tx) error {
		u, err = get(tx, id)
		return err
	})
	return u, err
}

func (f file) change(_ context.Context, id int) (version int, err error) {
	err = f.bolt.Update(func(tx *bolt.Tx) error {
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
