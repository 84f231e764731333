package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// writeSums writes the checksums of all files, in the format of sha256sum, and signs them if
// there is a key.
func writeSums(folder, key string) error {
	var sums strings.Builder
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, "SHA256SUMS") {
			return err
		}
		data, err := os.ReadFile(filepath.Join(folder, name))
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), name)
		return err
	})
	if err != nil {
		return err
	}
	file := filepath.Join(folder, "SHA256SUMS")
	if err := os.WriteFile(file, []byte(sums.String()), 0o644); err != nil || key == "" {
		return err
	}
	if err := os.Remove(file + ".sig"); err != nil && !os.IsNotExist(err) { // ssh-keygen would ask
		return err
	}
	_, err = output("", nil, "ssh-keygen", "-Y", "sign", "-f", key, "-n", "pinwheel-release", file)
	return err
}
