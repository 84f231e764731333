package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	_ "github.com/pinwheel-cache/pinwheel/gozero/collection" // what the switched service imports
)

const (
	module      = "github.com/pinwheel-cache/pinwheel/bench/switch/"
	servicePkg  = module + "service"
	driverPkg   = module + "inprocess"
	importOld   = `"github.com/zeromicro/go-zero/core/collection"`
	importNew   = `"github.com/pinwheel-cache/pinwheel/gozero/collection"`
	logStatsSrc = `package main

import "github.com/pinwheel-cache/pinwheel/gozero"

func init() { gozero.LogStats() }
`
)

// A side is a variant that is built from the same source.
type side struct {
	name     string
	switched bool // the import is changed
	logStats bool // and gozero.LogStats is called
}

var (
	before   = side{name: "go-zero"}
	after    = side{name: "pinwheel", switched: true}
	afterLog = side{name: "pinwheel, LogStats", switched: true, logStats: true}
)

// build builds a package for a side, and returns the path of the program. It writes the
// changed source to dir and overlays it, so the package itself does not change.
func (s side) build(pkg, dir string) (program string, err error) {
	name := strings.ReplaceAll(s.name, ", ", "-")
	dir = filepath.Join(dir, filepath.Base(pkg), name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	overlay, err := s.overlay(pkg, dir)
	if err != nil {
		return "", err
	}
	program = filepath.Join(dir, name)
	cmd := exec.Command("go", "build", "-overlay", overlay, "-o", program, pkg)
	cmd.Stderr = os.Stderr
	return program, cmd.Run()
}

// overlay writes the files that the go command reads in place of a package's sources.
func (s side) overlay(pkg, dir string) (path string, err error) {
	at, err := packageDir(pkg)
	if err != nil {
		return "", err
	}
	replace := make(map[string]string)
	put := func(name, text string) {
		to := filepath.Join(dir, name)
		replace[filepath.Join(at, name)] = to
		if err == nil {
			err = os.WriteFile(to, []byte(text), 0o644)
		}
	}
	if s.switched {
		name, text, switchErr := switchImport(at)
		if switchErr != nil {
			return "", switchErr
		}
		put(name, text)
	}
	if s.logStats {
		put("logstats.go", logStatsSrc)
	}
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, text, 0o644)
}

// switchImport finds the one file in a folder that imports go-zero's collection, and
// returns its text with that line changed.
func switchImport(dir string) (name, text string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", "", err
	}
	found := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return "", "", err
		}
		if n := strings.Count(string(source), importOld); n > 0 {
			found += n
			name, text = filepath.Base(file), strings.Replace(string(source), importOld, importNew, 1)
		}
	}
	if found != 1 {
		return "", "", fmt.Errorf("%s imports %s %d times, want once", dir, importOld, found)
	}
	return name, text, nil
}

func packageDir(pkg string) (string, error) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		return "", fmt.Errorf("go list %s: %w", pkg, err)
	}
	return strings.TrimSpace(string(out)), nil
}
