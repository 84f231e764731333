package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// writeNotes writes the part of CHANGELOG.md about the version, or about what is unreleased if
// the version has none.
func writeNotes(repo, folder, version string) error {
	text, err := output(repo, nil, "git", "show", version+":CHANGELOG.md")
	if err != nil {
		return err
	}
	notes, err := section(text, version)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "NOTES.md"), []byte("# pinwheel "+version+"\n\n"+notes+"\n"), 0o644)
}

func section(changelog, version string) (string, error) {
	for _, heading := range []string{"\n## " + version, "\n## [" + version, "\n## Unreleased"} {
		if _, rest, ok := strings.Cut(changelog, heading); ok {
			_, rest, _ = strings.Cut(rest, "\n") // the rest of the heading: a date
			notes, _, _ := strings.Cut(rest, "\n## ")
			if notes = strings.TrimSpace(notes); notes != "" {
				return notes, nil
			}
		}
	}
	return "", fmt.Errorf("CHANGELOG.md has nothing about %s: want a heading ## %s, or ## Unreleased, and the changes below", version, version)
}
