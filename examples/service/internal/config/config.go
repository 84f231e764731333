// Package config holds the settings of the example service.
package config

//lint:file-ignore SA5008 these json tags are read by go-zero's conf, which has options of its own

import (
	"fmt"
	"time"

	"github.com/zeromicro/go-zero/rest"

	"github.com/pinwheel-cache/pinwheel/gozero"
)

// Config has the settings of etc/service.yaml.
type Config struct {
	rest.RestConf

	// Database is the file of the embedded database; empty, the default, means a
	// file in the user's cache directory.
	Database string `json:",optional"`

	// DatabaseDelay is added to each read of the database, on average; 0s, the
	// default, adds nothing.
	DatabaseDelay time.Duration `json:",optional"`

	// Users is the cache of users.
	Users gozero.Conf

	// Sessions is the cache of sessions. Its Expire is the timeout. It is exact, as
	// there is no Jitter.
	Sessions gozero.Conf
}

// Validate reports errors that [gozero.NewCache] does not find. go-zero's conf calls it.
func (c Config) Validate() error {
	if c.Sessions.Expire <= 0 {
		return fmt.Errorf("Sessions.Expire is %v: want the time after which a session without a beat went silent, such as 30s", c.Sessions.Expire)
	}
	if c.DatabaseDelay < 0 {
		return fmt.Errorf("DatabaseDelay is %v: want a positive time, or 0s for none", c.DatabaseDelay)
	}
	return nil
}
