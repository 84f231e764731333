package svc

import (
	"os"
	"path/filepath"
)

// defaultDatabase returns a file in the user's cache directory, or in the
// temporary one where there is no such directory or it cannot be written.
func defaultDatabase() string {
	const dir, file = "pinwheel-example", "users.db"
	if base, err := os.UserCacheDir(); err == nil {
		if os.MkdirAll(filepath.Join(base, dir), 0o755) == nil {
			return filepath.Join(base, dir, file)
		}
	}
	return filepath.Join(os.TempDir(), dir, file)
}
