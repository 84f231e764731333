package redis

import (
	"errors"
	"fmt"
	"strings"
)

// String says what is watched where, without the password: a Redis may end up in a log.
func (r *Redis) String() string { return r.options.String() }

// GoString is String, for the verb %#v.
func (r *Redis) GoString() string { return r.String() }

// String says what is watched where, without the password.
func (o Options) String() string {
	addresses := make([]string, len(o.Client.InitAddress))
	for i, addr := range o.Client.InitAddress {
		addresses[i] = withoutSecrets(addr)
	}
	return fmt.Sprintf("near/redis: %s, prefixes %q", strings.Join(addresses, ", "), o.Prefixes)
}

// GoString is String, for the verb %#v.
func (o Options) GoString() string { return o.String() }

// checkAddresses refuses addresses that are URLs: they may have a password, which must not be
// in errors.
func checkAddresses(addresses []string) error {
	for i, addr := range addresses {
		if withoutSecrets(addr) != addr || strings.Contains(addr, "/") && !strings.HasPrefix(addr, "/") {
			return fmt.Errorf("near/redis: Client.InitAddress[%d] is a URL: want host and port, or Client: rueidis.MustParseURL(url)", i)
		}
	}
	if len(addresses) == 0 {
		return errors.New(`near/redis: Client.InitAddress is empty: want the address of Redis, of its Sentinels, or of a node of the cluster: []string{"127.0.0.1:6379"}`)
	}
	return nil
}

// withoutSecrets returns an address without what stands before @.
func withoutSecrets(addr string) string { return addr[strings.LastIndexByte(addr, '@')+1:] }
