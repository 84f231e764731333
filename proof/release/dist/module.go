package main

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// A released module is one that has a tag of the version.
type released struct {
	tag     string // gozero/v0.1.0
	dir     string // its folder in the repository, "" for the library
	version string
}

func (m released) path() string { return path.Join(library, m.dir) }

// at returns the folder in which a proxy has the module. No path has an upper-case letter,
// which a proxy would have escaped.
func (m released) at(folder string) string {
	return filepath.Join(folder, filepath.FromSlash(m.path()), "@v")
}

// publish writes what a proxy serves for the module.
func (m released) publish(repo, folder string) error {
	at := m.at(folder)
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(at, m.version+".zip"))
	if err != nil {
		return err
	}
	defer file.Close()
	if err := zip.CreateFromVCS(file, module.Version{Path: m.path(), Version: m.version}, repo, m.tag, m.dir); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	mod, err := output(repo, nil, "git", "show", m.tag+":"+path.Join(m.dir, "go.mod"))
	if err != nil {
		return err
	}
	info, err := m.info(repo)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"list": m.version, m.version + ".mod": mod, m.version + ".info": info} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// info returns the version and the time of its commit, as the go command wants them.
func (m released) info(repo string) (string, error) {
	committed, err := output(repo, nil, "git", "log", "-1", "--format=%cI", m.tag)
	if err != nil {
		return "", err
	}
	at, err := time.Parse(time.RFC3339, committed)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{m.version, at.UTC()})
	return string(text), err
}
