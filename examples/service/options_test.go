package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

func TestSettings(t *testing.T) {
	c, err := (&options{port: -1}).config()
	settle.Must(t, err)
	if c.Host != "127.0.0.1" || c.Port != 8888 || c.Users.Limit != 1000 || c.Sessions.Expire != 30*time.Second || !c.Log.Stat {
		t.Errorf("the built-in settings: %+v", c)
	}
	file := filepath.Join(t.TempDir(), "mine.yaml")
	settle.Must(t, os.WriteFile(file, []byte("Name: mine\nPort: 1\nUsers: { Name: u, Limit: 5 }\nSessions: { Name: s, Expire: 2s }\n"), 0o600))
	c, err = (&options{file: file, port: 7, database: "x.db"}).config()
	settle.Must(t, err)
	if c.Port != 7 || c.Database != "x.db" || c.Users.Limit != 5 || c.Sessions.Expire != 2*time.Second {
		t.Errorf("a file and flags on top: %+v", c)
	}
}

func TestBadSettingsNameTheFile(t *testing.T) {
	const caches = "Users: { Name: u }\nSessions: { Name: s, Expire: 1s }\n"
	for content, says := range map[string]string{
		caches + "Name: mine\nPort: many\n":                                "Port",
		caches + "Name: mine\nPort: 1\nDatabaseDelay: -1s\n":               "DatabaseDelay is -1s",
		"Name: mine\nPort: 1\nUsers: {}\nSessions: {}\n":                   "Name",
		"Name: mine\nPort: 1\nUsers: { Name: u }\nSessions: { Name: s }\n": "Sessions.Expire is 0s",
	} {
		file := filepath.Join(t.TempDir(), "mine.yaml")
		settle.Must(t, os.WriteFile(file, []byte(content), 0o600))
		_, err := (&options{file: file, port: -1}).config()
		if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s%v", content, err)
		}
	}
	none := filepath.Join(t.TempDir(), "none.yaml")
	if _, err := (&options{file: none, port: -1}).config(); err == nil || !strings.Contains(err.Error(), none) {
		t.Error(err)
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
