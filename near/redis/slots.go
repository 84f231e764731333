package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// slots are those of a cluster from the first to the last.
type slots struct{ first, last int64 }

// clusterSlots returns which slots the masters own that a node knows, by their addresses. They include
// failed masters, as an instance that reaches one may read from it.
func (n *node) clusterSlots(ctx context.Context, timeout time.Duration) (map[string][]slots, error) {
	replies, err := n.do(ctx, timeout, []string{"CLUSTER", "SLOTS"})
	if err != nil {
		return nil, err
	}
	list, err := replies[0].ToArray()
	if err != nil {
		return nil, err
	}
	owned := map[string][]slots{}
	for _, entry := range list {
		one, addr, err := readSlots(entry, n.addr)
		if err != nil {
			return nil, fmt.Errorf("CLUSTER SLOTS: %w", err)
		}
		owned[addr] = append(owned[addr], one)
	}
	return owned, nil
}

// readSlots reads an entry of CLUSTER SLOTS: the first and the last slot, and their nodes, of which the
// first is the master.
func readSlots(entry rueidis.RedisMessage, asked string) (one slots, addr string, err error) {
	parts, err := entry.ToArray()
	if err != nil || len(parts) < 3 {
		return one, "", errors.Join(err, fmt.Errorf("an entry has %d parts, want at least 3", len(parts)))
	}
	if one.first, err = parts[0].AsInt64(); err != nil {
		return one, "", err
	}
	if one.last, err = parts[1].AsInt64(); err != nil {
		return one, "", err
	}
	master, err := parts[2].ToArray()
	if err != nil || len(master) < 2 {
		return one, "", errors.Join(err, fmt.Errorf("a node has %d parts, want at least 2", len(master)))
	}
	host, err := master[0].ToString()
	if err != nil && !rueidis.IsRedisNil(err) {
		return one, "", err
	}
	port, err := master[1].AsInt64()
	if err != nil {
		return one, "", err
	}
	addr, err = nodeAddress(host, port, asked)
	return one, addr, err
}

// nodeAddress returns the address of a node. One that does not know its own host leaves it out: then it
// is that of asked, the address by which the node was reached.
func nodeAddress(host string, port int64, asked string) (string, error) {
	if host == "" || host == "?" {
		askedHost, _, err := net.SplitHostPort(asked)
		if err != nil {
			return "", err
		}
		host = askedHost
	}
	return net.JoinHostPort(host, strconv.FormatInt(port, 10)), nil
}

// mastersOf returns the addresses of those who own slots, sorted.
func mastersOf(owned map[string][]slots) []string { return slices.Sorted(maps.Keys(owned)) }

// tagIn returns a part of a key that puts it into one of some slots, or "" if there are none, outside a
// cluster.
func tagIn(some []slots) string {
	if len(some) == 0 {
		return ""
	}
	for i := 0; ; i++ {
		tag := strconv.Itoa(i)
		slot := slotOf(tag)
		if slices.ContainsFunc(some, func(s slots) bool { return s.first <= slot && slot <= s.last }) {
			return "{" + tag + "}:"
		}
	}
}

// slotOf returns the slot of a tag: its CRC-16 (XMODEM) modulo 16384.
func slotOf(tag string) int64 {
	var crc uint16
	for i := range len(tag) {
		crc ^= uint16(tag[i]) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			if crc <<= 1; carry {
				crc ^= 0x1021
			}
		}
	}
	return int64(crc % 16384)
}
