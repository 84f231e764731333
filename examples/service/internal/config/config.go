// Package config holds the settings of the example service.
package config

//lint:file-ignore SA5008 these json tags are read by go-zero's conf, which has options of its own

import (
	"time"

	"github.com/zeromicro/go-zero/rest"
)

// Config is what etc/service.yaml sets.
type Config struct {
	rest.RestConf

	// Database is the file of the embedded database; empty means a file in the
	// user's cache directory.
	Database string `json:",optional"`

	Users    UsersConf
	Sessions SessionsConf
}

// UsersConf sets the cache of users.
type UsersConf struct {
	Limit  int           `json:",default=1000"`
	Expire time.Duration `json:",default=5m"`
	Jitter float64       `json:",default=0.05"`
}

// SessionsConf sets the cache of sessions.
type SessionsConf struct {
	Limit   int           `json:",default=100000"`
	Timeout time.Duration `json:",default=30s"`
}
