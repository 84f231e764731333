package stats

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"
)

// executable and host are empty if the system does not know them.
var (
	executable, _ = os.Executable()
	host, _       = os.Hostname()
	started       = time.Now().UTC().Round(0) // of this process
	version       = versionOf(debug.ReadBuildInfo())
)

// versionOf returns the version of the main module, or the revision that it was built from.
func versionOf(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return ""
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(len(s.Value), 12)]
		}
	}
	return ""
}

// newHead returns what says which process answers.
func newHead(f form) jsonHead {
	return jsonHead{
		Version:  schemaVersion,
		Time:     time.Now().UTC(),
		Interval: interval.Seconds(),
		Program:  filepath.Base(executable),
		Release:  version,
		Host:     host,
		Address:  f.address,
		Pid:      os.Getpid(),
		Started:  started,
		Purge:    f.purge,
		Peers:    f.peers,
	}
}

// same reports whether two answers are of one process.
func (h jsonHead) same(other jsonHead) bool {
	return h.Host == other.Host && h.Pid == other.Pid && h.Started.Equal(other.Started)
}

// addressOf returns the address at which a request arrived, or "" if it came by no connection.
func addressOf(r *http.Request) string {
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(interface{ String() string }); ok {
		return at.String()
	}
	return ""
}
