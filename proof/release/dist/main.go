// Command dist writes the files of a release, whose tags scripts/release has made:
//
//	go -C proof run ./release/dist -o folder [-key file] v0.1.0
//
// The folder gets what a Go module proxy serves for each module, so GOPROXY=file://folder
// works; NOTES.md, the changes from CHANGELOG.md; bom.json, a bill of materials in the format
// of CycloneDX 1.5: all modules, and what each is built with; and SHA256SUMS of all that. With
// -key, a private key of ssh-keygen, also SHA256SUMS.sig. To check them:
//
//	sha256sum -c SHA256SUMS
//	ssh-keygen -Y verify -n pinwheel-release -f allowed_signers -I signer -s SHA256SUMS.sig < SHA256SUMS
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"
)

const library = "github.com/pinwheel-cache/pinwheel"

func main() {
	folder := flag.String("o", "", "write into this `folder`, which is made")
	key := flag.String("key", "", "sign the checksums with this private key, a `file` of ssh-keygen")
	flag.Parse()
	if flag.NArg() != 1 || *folder == "" || !semver.IsValid(flag.Arg(0)) {
		fmt.Fprintln(os.Stderr, "usage: dist -o folder [-key file] v0.1.0")
		os.Exit(2)
	}
	if err := write(*folder, flag.Arg(0), *key); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func write(folder, version, key string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	repo, err := output("", nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	tags, err := output(repo, nil, "git", "tag", "--list", version, "*/"+version)
	if err != nil {
		return err
	}
	if tags == "" {
		return fmt.Errorf("there is no tag %s: run scripts/release %s first", version, version)
	}
	var modules []released
	for _, tag := range strings.Fields(tags) {
		m := released{tag: tag, dir: strings.TrimSuffix(strings.TrimSuffix(tag, version), "/"), version: version}
		if err := m.publish(repo, folder); err != nil {
			return fmt.Errorf("%s: %w", tag, err)
		}
		modules = append(modules, m)
	}
	if err := writeNotes(repo, folder, version); err != nil {
		return err
	}
	if err := writeBill(modules, folder); err != nil {
		return err
	}
	return writeSums(folder, key)
}

// output runs a command and returns what it prints.
func output(dir string, env []string, name string, args ...string) (string, error) {
	var stderr strings.Builder
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr, cmd.Env = dir, &stderr, append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, &stderr)
	}
	return strings.TrimSpace(string(out)), nil
}
