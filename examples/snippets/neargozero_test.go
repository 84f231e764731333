package snippets

import (
	"github.com/zeromicro/go-zero/core/stores/cache"
	"github.com/zeromicro/go-zero/core/stores/monc"
	"github.com/zeromicro/go-zero/core/stores/sqlc"
	"github.com/zeromicro/go-zero/core/stores/sqlx"

	"github.com/pinwheel-cache/pinwheel/near/gozero"
)

type nearConfig struct {
	Cache cache.CacheConf
	Near  gozero.Conf
}

func NearGoZero(c nearConfig, conn sqlx.SqlConn) UserModel {
	near := gozero.MustNew(c.Near, c.Cache, sqlc.ErrNotFound)

	return NewUserModel(conn, c.Cache, near)
}

func NewUserModel(conn sqlx.SqlConn, c cache.CacheConf, near cache.Cache, opts ...cache.Option) UserModel {
	m := newUserModel(conn, c, opts...)
	m.CachedConn = sqlc.NewConnWithCache(conn, near) // this one
	return &customUserModel{defaultUserModel: m}
}

// What goctl has made.
type (
	UserModel        interface{ DelCache(keys ...string) error }
	customUserModel  struct{ *defaultUserModel }
	defaultUserModel struct{ sqlc.CachedConn }
)

func newUserModel(conn sqlx.SqlConn, c cache.CacheConf, opts ...cache.Option) *defaultUserModel {
	return &defaultUserModel{sqlc.NewConn(conn, c, opts...)}
}

func NearMongo(c nearConfig, uri, db, collection string) (*monc.Model, error) {
	near := gozero.MustNew(c.Near, c.Cache, monc.ErrNotFound)
	return monc.NewModelWithCache(uri, db, collection, near)
}
