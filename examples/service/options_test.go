package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSettings(t *testing.T) {
	c, err := (&options{port: -1}).config()
	if err != nil {
		t.Fatal(err)
	}
	if c.Host != "127.0.0.1" || c.Port != 8888 || c.Users.Limit != 1000 || c.Sessions.Timeout != 30*time.Second {
		t.Errorf("the built-in settings: %+v", c)
	}
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte("Name: mine\nPort: 1\nUsers:\n  Limit: 5\nSessions:\n  Timeout: 2s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err = (&options{file: file, port: 7, database: "x.db"}).config()
	if err != nil {
		t.Fatal(err)
	}
	if c.Port != 7 || c.Database != "x.db" || c.Users.Limit != 5 || c.Users.Expire != 5*time.Minute || c.Sessions.Timeout != 2*time.Second {
		t.Errorf("a file and flags on top: %+v", c)
	}
}

func TestBadSettingsNameTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte("Name: mine\nPort: many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, filepath.Join(t.TempDir(), "none.yaml")} {
		if _, err := (&options{file: name, port: -1}).config(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPortFlag(t *testing.T) {
	for s, ok := range map[string]bool{"0": true, "8888": true, "65535": true,
		"65536": false, "-1": false, "": false, "http": false, "80x": false} {
		if err := new(options).setPort(s); (err == nil) != ok {
			t.Errorf("-port %q: %v", s, err)
		}
	}
}
