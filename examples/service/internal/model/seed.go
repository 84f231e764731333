package model

import (
	"fmt"
	"strings"

	bolt "go.etcd.io/bbolt"
)

var (
	firstNames = []string{"Ada", "Barbara", "Chen", "Dennis", "Edsger", "Frances", "Grace"}
	lastNames  = []string{"Adler", "Brook", "Castro", "Dahl", "Eriksen"}
	cities     = []string{"Accra", "Bergen", "Chennai", "Dublin"}
)

// Sample returns the made-up user with this id. Another version gives another user,
// for a writer that changes something. The lengths of the lists have no common factor,
// so that neighbours differ in everything.
func Sample(id, version int64) User {
	n := uint64(id)
	first, last := firstNames[n%uint64(len(firstNames))], lastNames[n%uint64(len(lastNames))]
	return User{
		ID:    id,
		Name:  first + " " + last,
		Email: fmt.Sprintf("%s.%s.%d@example.com", strings.ToLower(first), strings.ToLower(last), id),
		City:  cities[(n+uint64(version))%uint64(len(cities))],
	}
}

// seed fills a new database. The users and their bucket are written in one
// transaction, so a bucket is never partly filled: if it exists, seed does nothing,
// and deleted users stay deleted.
func (s *Store) seed(users int) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		if tx.Bucket(bucket) != nil {
			return nil
		}
		b, err := tx.CreateBucket(bucket)
		if err != nil {
			return err
		}
		b.FillPercent = 0.9 // the keys come in order: leave only a little room for changes
		for id := int64(1); id <= int64(users); id++ {
			if err := putRow(b, Sample(id, 0)); err != nil {
				return err
			}
		}
		return nil
	})
}
