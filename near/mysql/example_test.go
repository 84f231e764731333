package mysql_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/mysql"
	"github.com/pinwheel-cache/pinwheel/near/mysql/mysqltest"
)

// A service hears of changes of its tables from the binary log. The keys are those of go-zero's
// models.
func ExampleNewLog() {
	server, err := mysqltest.Start() // yours runs somewhere else
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Stop()
	if err := server.Exec("CREATE TABLE users (id bigint PRIMARY KEY, name text)"); err != nil {
		fmt.Println(err)
		return
	}

	log, err := mysql.NewLog(server.DSN(), mysql.LogOptions{Tables: []mysql.Table{{Name: "users", Keys: []string{"cache:users:id:{id}"}}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	names, err := near.NewLocal(log, near.LocalOptions[int64, string]{
		Cache: cache.Options[int64, string]{Limit: 10_000}, Prefix: "cache:users:id:", MaxLag: time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer names.Close(context.Background())
	fmt.Println(log.Covers("cache:users:id:7"), log.Covers("cache:orders:id:7"))
	// true false
}

// Catches: an example that fails.
func TestExampleNewLog(t *testing.T) {
	sharedServer(t)
	stdout := os.Stdout
	r, w, err := os.Pipe()
	check(t, err)
	os.Stdout = w
	ExampleNewLog()
	os.Stdout = stdout
	w.Close()
	text, err := io.ReadAll(r)
	check(t, err)
	if got, want := string(text), "true false\n"; got != want {
		t.Errorf("the example prints %q, want %q", got, want)
	}
}
