package gozero

//lint:file-ignore SA5008 these json tags are read by go-zero's conf, which has options of its own

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/cache"
	gozeroredis "github.com/zeromicro/go-zero/core/stores/redis"

	pinwheel "github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near/redis"
)

// Conf has the settings of a [Cache] in a service's YAML, beside those of go-zero's cache:
//
//	Cache:
//	  - Host: 127.0.0.1:6379
//	Near:
//	  Limit: 100000
//	  Expire: 5m
//
// Times are written with their units, such as 500ms or 5m. In a Conf made in Go, fields
// left out are zero; go-zero's conf.FillDefault sets the defaults.
type Conf struct {
	// Name is what the statistics and go-zero's minute line in the log call the cache.
	Name string `json:",default=near"`

	// Limit is the most entries in memory, MaxBytes the most bytes that their keys and their JSON may
	// have. Both may be set; 0, the default, means no limit.
	Limit    int    `json:",optional"`
	MaxBytes uint64 `json:",optional"`

	// Expire is how long a value, or a "not found", may stay in memory, within 5 %; 0s means
	// as long as in Redis, which it never outlives. It bounds for how long a value is served
	// that a failover of Redis has made wrong.
	Expire time.Duration `json:",default=5m"`

	// MaxLag bounds the age of what is served: values in memory are served while Redis has
	// confirmed a moment at most this long ago. At least 10ms; 0s means a second. Redis is
	// asked three times in each MaxLag.
	MaxLag time.Duration `json:",default=1s"`

	// Prefixes are the prefixes of the keys that are kept in memory; none means "cache:", as
	// in the models of goctl. All other keys go to go-zero's cache. No prefix may begin with
	// another one. Redis tells of every change of a key with one of them; "" means all keys.
	Prefixes []string `json:",optional"`

	// CA is a file of the PEM certificates that the certificates of nodes with Tls must come
	// from; without it they are those of the system. A certificate must be for the name or the
	// address by which the node is reached.
	CA string `json:",optional"`

	// InsecureSkipVerify accepts any certificate, as go-zero's own connections always do:
	// then whoever can pose as Redis gets its password. The log says so.
	InsecureSkipVerify bool `json:",optional"`
}

const (
	defaultPrefix = "cache:"
	jitter        = 0.05 // that of go-zero
)

func (c Conf) prefixes() []string {
	if len(c.Prefixes) == 0 {
		return []string{defaultPrefix}
	}
	return c.Prefixes
}

// checkNodes refuses nodes with which go-zero's cache.New would end the process.
func checkNodes(nodes cache.CacheConf) error {
	if len(nodes) == 0 || cache.TotalWeights(nodes) <= 0 {
		return fmt.Errorf("%w: no Redis has a Weight: want at least one with a Host and a Weight, such as 100", pinwheel.ErrArgument)
	}
	var wrong []error
	for i, n := range nodes {
		if isURL(n.Host) {
			wrong = append(wrong, fmt.Errorf("%w: Redis %d: Host is a URL: want host:port, and Tls, User and Pass beside it", pinwheel.ErrArgument, i))
		}
		if err := n.Validate(); err != nil {
			wrong = append(wrong, fmt.Errorf("%w: Redis %d: %w", pinwheel.ErrArgument, i, err))
		}
	}
	return errors.Join(wrong...)
}

// isURL reports whether a host looks like what can have a password, which must not be printed.
func isURL(host string) bool { return strings.Contains(host, "://") || strings.Contains(host, "@") }

// tlsConfig returns how to check the certificates of nodes with Tls; nil if there are none.
func (c Conf) tlsConfig(nodes cache.CacheConf) (*tls.Config, error) {
	encrypted := slices.ContainsFunc(nodes, func(n cache.NodeConf) bool { return n.Tls })
	switch {
	case c.CA != "" && c.InsecureSkipVerify:
		return nil, fmt.Errorf("%w: CA and InsecureSkipVerify are both set: want one", pinwheel.ErrArgument)
	case c.CA != "" && !encrypted:
		return nil, fmt.Errorf("%w: CA is set, but no Redis has Tls: true", pinwheel.ErrArgument)
	case !encrypted:
		return nil, nil
	case c.InsecureSkipVerify:
		logx.Errorf("cache(%s) - InsecureSkipVerify is set: any certificate of Redis is accepted, and who poses as Redis gets its password", c.Name)
		return &tls.Config{InsecureSkipVerify: true}, nil
	case c.CA == "":
		return &tls.Config{}, nil
	}
	pem, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, fmt.Errorf("%w: CA: %w", pinwheel.ErrArgument, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%w: CA: %s has no PEM certificate", pinwheel.ErrArgument, c.CA)
	}
	return &tls.Config{RootCAs: roots}, nil
}

// redisOptions returns the options to watch and read the servers of a go-zero node.
func (c Conf) redisOptions(n cache.NodeConf, encryption *tls.Config) redis.Options {
	client := rueidis.ClientOption{InitAddress: []string{n.Host}, Username: n.User, Password: n.Pass}
	if n.Type == gozeroredis.ClusterType {
		client.InitAddress = nil
		for addr := range strings.SplitSeq(n.Host, ",") {
			client.InitAddress = append(client.InitAddress, strings.TrimSpace(addr))
		}
	} else {
		client.ForceSingleClient = true
	}
	if n.Tls {
		client.TLSConfig = encryption
	}
	return redis.Options{Client: client, Prefixes: c.prefixes()}
}
