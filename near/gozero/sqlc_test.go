package gozero_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/zeromicro/go-zero/core/stores/cache"
	"github.com/zeromicro/go-zero/core/stores/sqlc"
	"github.com/zeromicro/go-zero/core/stores/sqlx"

	"github.com/pinwheel-cache/pinwheel/near/gozero"
)

// A user, and userModel below, are as goctl makes them of a table with a unique name.
type user struct {
	Id   int64  `db:"id"`
	Name string `db:"name"`
}

const (
	userIDPrefix   = "cache:user:id:"
	userNamePrefix = "cache:user:name:"
)

type userModel struct{ sqlc.CachedConn }

func newUserModel(conn sqlx.SqlConn, c cache.CacheConf, opts ...cache.Option) *userModel {
	return &userModel{sqlc.NewConn(conn, c, opts...)}
}

func (m *userModel) FindOne(ctx context.Context, id int64) (*user, error) {
	var resp user
	err := m.QueryRowCtx(ctx, &resp, fmt.Sprint(userIDPrefix, id), func(ctx context.Context, conn sqlx.SqlConn, v any) error {
		return conn.QueryRowCtx(ctx, v, "select id, name from user where id = ?", id)
	})
	return &resp, err
}

func (m *userModel) FindOneByName(ctx context.Context, name string) (*user, error) {
	var resp user
	err := m.QueryRowIndexCtx(ctx, &resp, userNamePrefix+name, func(primary any) string { return fmt.Sprint(userIDPrefix, primary) },
		func(ctx context.Context, conn sqlx.SqlConn, v any) (any, error) {
			if err := conn.QueryRowCtx(ctx, &resp, "select id, name from user where name = ?", name); err != nil {
				return nil, err
			}
			return resp.Id, nil
		},
		func(ctx context.Context, conn sqlx.SqlConn, v, primary any) error {
			return conn.QueryRowCtx(ctx, v, "select id, name from user where id = ?", primary)
		})
	return &resp, err
}

func (m *userModel) Rename(ctx context.Context, old *user, name string) error {
	_, err := m.ExecCtx(ctx, func(ctx context.Context, conn sqlx.SqlConn) (sql.Result, error) {
		return conn.ExecCtx(ctx, "update user set name = ? where id = ?", name, old.Id)
	}, fmt.Sprint(userIDPrefix, old.Id), userNamePrefix+old.Name, userNamePrefix+name)
	return err
}

// TestModel compares a model of sqlc with a near cache with one without. The database
// returns only what is expected.
func TestModel(t *testing.T) {
	s := server(t)
	db, mock, err := sqlmock.New(sqlmock.QueryMatcherOption(sqlmock.QueryMatcherEqual))
	check(t, err)
	defer db.Close()
	conn := sqlx.NewSqlConnFromDB(db)
	c := nodes(s.Addr)
	made := newIdle(t, gozero.Conf{MaxLag: maxLag}, c, sqlc.ErrNotFound)
	awaitServing(t, made)

	theirs, m := newUserModel(conn, c), newUserModel(conn, c)
	m.CachedConn = sqlc.NewConnWithCache(conn, made)

	rows := func(of ...user) *sqlmock.Rows {
		r := sqlmock.NewRows([]string{"id", "name"})
		for _, u := range of {
			r.AddRow(u.Id, u.Name)
		}
		return r
	}
	want := func(what string, u user, find func() (*user, error)) {
		t.Helper()
		await(t, what+" from memory", func() bool {
			before := reads(t, s)
			got, err := find()
			if err != nil || *got != u {
				t.Fatalf("%s: %v, %v, want %v", what, got, err, u)
			}
			return reads(t, s) == before
		})
	}
	byName := func(name string) func() (*user, error) {
		return func() (*user, error) { return m.FindOneByName(t.Context(), name) }
	}
	ann, bob := user{7, "Ann"}, user{7, "Bob"}

	mock.ExpectQuery("select id, name from user where name = ?").WithArgs("Ann").WillReturnRows(rows(ann))
	want("by name", ann, byName("Ann"))
	want("by id", ann, func() (*user, error) { return m.FindOne(t.Context(), 7) }) // stored by the query by name

	mock.ExpectQuery("select id, name from user where name = ?").WithArgs("Bob").WillReturnRows(rows())
	for range 3 {
		if _, err := m.FindOneByName(t.Context(), "Bob"); err != sqlc.ErrNotFound {
			t.Errorf("no Bob: %v", err)
		}
	}

	mock.ExpectExec("update user set name = ? where id = ?").WithArgs("Bob", 7).WillReturnResult(sqlmock.NewResult(0, 1))
	check(t, theirs.Rename(t.Context(), &ann, "Bob"))
	mock.ExpectQuery("select id, name from user where name = ?").WithArgs("Bob").WillReturnRows(rows(bob))
	await(t, "Bob", func() bool { _, err := m.FindOneByName(t.Context(), "Bob"); return err == nil })
	want("by the new name", bob, byName("Bob"))
	want("by id", bob, func() (*user, error) { return m.FindOne(t.Context(), 7) })
	check(t, mock.ExpectationsWereMet())
}
