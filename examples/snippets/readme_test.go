package snippets

import (
	"context"
	"net"
	"time"

	"github.com/zeromicro/go-zero/rest"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/cache/codec"
	"github.com/pinwheel-cache/pinwheel/gozero"
	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

type User struct{}

type database struct{}

func (database) User(int64) (*User, error) { return new(User), nil }

func Cache(db database, id int64) (*User, error) {
	users := cache.Must(cache.Options[int64, *User]{
		Name:   "users",
		Limit:  100_000,
		Expire: time.Hour,
		Jitter: 0.05,
	})

	user, err := users.Take(id, func() (*User, error) { return db.User(id) })
	return user, err
}

func WarmStart(ctx context.Context, users *cache.Cache[int64, *User], starting bool) (int, error) {
	encode, decode := codec.JSON[int64, *User]() // package cache/codec, or two functions of your own

	if starting {
		restored, err := users.RestoreFile("users.cache", decode) // at the start
		return restored, err
	}

	err := users.SaveFile(ctx, "users.cache", encode) // at the end, or at any time
	return 0, err
}

func TimersByKey(id uint64, conn net.Conn) error {
	wheel, err := timingwheel.New(100*time.Millisecond, 512, func(id uint64, c net.Conn) {
		c.Close() // 30 s without a sign of life
	})
	wheel.SetTimer(id, conn, 30*time.Second)
	wheel.MoveTimer(id, 30*time.Second) // a sign of life; false if it is being closed
	return err
}

func TimersByHandle(ctx context.Context, retry, refresh func()) (*timingwheel.Timer, error) {
	timers, err := timingwheel.NewTimers(10*time.Millisecond, 512)
	if err != nil {
		return nil, err
	}

	t := timers.AfterFunc(time.Second, retry) // Stop and Reset as in package time
	err = timers.Sleep(ctx, 2*time.Second)
	timers.Every(time.Minute, refresh)
	return t, err
}

func GoZero(server *rest.Server) *cache.Cache[int64, *User] {
	type Config struct {
		rest.RestConf
		Users gozero.Conf // Name, Limit, Expire, Jitter, ... in the service's YAML
	}

	var c Config

	users := gozero.MustNewCache[int64, *User](c.Users) // closed at shutdown, with go-zero's log line every minute
	server.AddRoutes(gozero.Routes(), rest.WithPrefix("/cache"))
	gozero.MustRegister() // metrics on the DevServer
	return users
}
