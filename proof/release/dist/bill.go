package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// A bill is a bill of materials in the format of CycloneDX 1.5 (https://cyclonedx.org).
type bill struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	URL     string `json:"purl"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

func componentOf(m module.Version) component {
	url := "pkg:golang/" + m.Path + "@" + m.Version
	return component{Type: "library", Ref: url, Name: m.Path, Version: m.Version, URL: url}
}

// writeBill writes which modules the packages of each module are built with, without their
// tests.
func writeBill(modules []released, folder string) error {
	b := bill{Format: "CycloneDX", SpecVersion: "1.5", Version: 1,
		Metadata: metadata{componentOf(module.Version{Path: library, Version: modules[0].version})}}
	var all []module.Version
	for _, m := range modules {
		needs, err := m.needs(folder)
		if err != nil {
			return err
		}
		self := module.Version{Path: m.path(), Version: m.version}
		needs = slices.DeleteFunc(needs, func(v module.Version) bool { return v.Path == self.Path })
		d := dependency{Ref: componentOf(self).Ref, DependsOn: []string{}}
		for _, v := range needs {
			d.DependsOn = append(d.DependsOn, componentOf(v).Ref)
		}
		b.Dependencies = append(b.Dependencies, d)
		all = append(append(all, self), needs...)
	}
	module.Sort(all)
	for _, v := range slices.Compact(all) {
		if v.Path != library { // which the bill is about
			b.Components = append(b.Components, componentOf(v))
		}
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "bom.json"), append(text, '\n'), 0o644)
}

// needs returns the modules with which the packages of m are built, from what the folder has.
func (m released) needs(folder string) ([]module.Version, error) {
	dir, err := os.MkdirTemp("", "bill")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := zip.Unzip(dir, module.Version{Path: m.path(), Version: m.version}, filepath.Join(m.at(folder), m.version+".zip")); err != nil {
		return nil, err
	}
	proxies, err := output("", nil, "go", "env", "GOPROXY")
	if err != nil {
		return nil, err
	}
	modcache, err := os.MkdirTemp("", "bill") // these modules are not yet what they will be for ever
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(modcache)
	downloaded, err := output("", nil, "go", "env", "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	env := []string{"GOPROXY=file://" + folder + ",file://" + downloaded + "/cache/download," + proxies, "GOMODCACHE=" + modcache,
		"GOFLAGS=-mod=mod -modcacherw", "GONOSUMDB=" + library, "GONOPROXY=", "GOPRIVATE=", "GOWORK=off"}
	out, err := output(dir, env, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}", "./...")
	if err != nil {
		return nil, err
	}
	var needs []module.Version
	for line := range strings.Lines(out) {
		if path, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			needs = append(needs, module.Version{Path: path, Version: version})
		}
	}
	module.Sort(needs)
	return slices.Compact(needs), nil
}
