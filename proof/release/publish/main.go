// Publish writes the modules of a release, as their tags have them, to a folder that is a module
// proxy, and beside them checksums.txt, with the two lines that go.sum has of each:
//
//	go run -C proof ./release/publish -repo "$PWD" -to DIR v0.1.0
//
// GOPROXY=file://DIR makes the go command get them from there. scripts/release runs it.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

const library = "github.com/pinwheel-cache/pinwheel"

func main() {
	log.SetFlags(0)
	log.SetPrefix("publish: ")
	repo := flag.String("repo", ".", "a folder of the repository")
	to := flag.String("to", "", "the folder to write to")
	flag.Parse()
	if *to == "" || flag.NArg() != 1 {
		log.Fatal("want -to DIR, and a version such as v0.1.0")
	}
	if err := publish(*repo, *to, flag.Arg(0)); err != nil {
		log.Fatal(err)
	}
}

// publish writes all modules that have a tag of the version.
func publish(repo, to, version string) error {
	tags, err := git(repo, "tag", "--list", version, "*/"+version)
	if err != nil {
		return err
	}
	var sums []string
	for _, tag := range strings.Fields(tags) {
		lines, err := publishTag(repo, to, tag, version)
		if err != nil {
			return fmt.Errorf("%s: %w", tag, err)
		}
		sums = append(sums, lines...)
	}
	if len(sums) == 0 {
		return fmt.Errorf("no tag is %s or ends in /%[1]s: want those that scripts/release makes", version)
	}
	slices.Sort(sums)
	return os.WriteFile(filepath.Join(to, "checksums.txt"), []byte(strings.Join(sums, "\n")+"\n"), 0o644)
}

// publishTag writes one module and returns its lines of go.sum.
func publishTag(repo, to, tag, version string) (sums []string, err error) {
	folder := strings.TrimSuffix(strings.TrimSuffix(tag, version), "/")
	m := module.Version{Path: strings.TrimSuffix(library+"/"+folder, "/"), Version: version}
	at := filepath.Join(to, filepath.FromSlash(m.Path), "@v", version) // the path has no capitals to escape
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return nil, err
	}
	goMod, err := git(repo, "show", tag+":"+strings.TrimPrefix(folder+"/go.mod", "/"))
	if err != nil {
		return nil, err
	}
	date, err := git(repo, "log", "-1", "--format=%cI", tag)
	if err != nil {
		return nil, err
	}
	for name, text := range map[string]string{
		at + ".mod":                             goMod,
		at + ".info":                            fmt.Sprintf(`{"Version":%q,"Time":%q}`, version, strings.TrimSpace(date)),
		filepath.Join(filepath.Dir(at), "list"): version + "\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	file, err := os.Create(at + ".zip")
	if err != nil {
		return nil, err
	}
	err = zip.CreateFromVCS(file, m, repo, tag, folder)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	ofFiles, err := dirhash.HashZip(at+".zip", dirhash.Hash1)
	if err != nil {
		return nil, err
	}
	ofMod, err := goModHash(at + ".mod")
	if err != nil {
		return nil, err
	}
	return []string{
		fmt.Sprintf("%s %s %s", m.Path, version, ofFiles),
		fmt.Sprintf("%s %s/go.mod %s", m.Path, version, ofMod),
	}, nil
}

func goModHash(path string) (string, error) {
	return dirhash.Hash1([]string{"go.mod"}, func(string) (file io.ReadCloser, err error) { return os.Open(path) })
}

// git returns what a git command prints.
func git(repo string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	var stderr strings.Builder
	cmd.Dir, cmd.Stderr = repo, &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, &stderr)
	}
	return string(out), nil
}
