package release

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/near/neartest"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

// A step of a page is what a reader does at one place of it.
type step struct {
	kind string // the language of its block: sh is run, other text goes into a file
	file string
	text string
	want string // what its commands print; "" if the page does not say
}

var (
	block  = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	quoted = regexp.MustCompile("`([a-z]+\\.[a-z]+)`")
)

// steps reads a page: a block of code is for the file that is named last before it, and a
// block without a language is what the commands before it print.
func steps(t *testing.T, page string) (all []step) {
	t.Helper()
	end := 0
	for _, at := range block.FindAllStringSubmatchIndex(page, -1) {
		before, kind, text := page[end:at[0]], page[at[2]:at[3]], page[at[4]:at[5]]
		end = at[1]
		switch names := quoted.FindAllStringSubmatch(before, -1); {
		case kind == "sh":
			all = append(all, step{kind: kind, text: text})
		case kind == "":
			all[len(all)-1].want = text
		case len(names) == 0:
			t.Fatalf("no file is named before:\n%s", text)
		default:
			all = append(all, step{kind: kind, file: names[len(names)-1][1], text: text})
		}
	}
	return all
}

// quarterOfAnHour does what docs/start.md says, to the letter but for the ports and the Redis.
//
// Catches: a page that leaves out a file, an import or a command, code that does not compile
// with the modules as they are released, and an output that is another one.
func quarterOfAnHour(t *testing.T, users user) {
	redis, err := redistest.Start()
	server := redistest.Started(t, redis, err)
	page, err := os.ReadFile("../../docs/start.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("localhost:6379", server.Addr,
		"localhost:8081", "localhost:"+freePort(t), "localhost:8082", "localhost:"+freePort(t)).Replace(string(page))

	// One shell for all, as a reader has: with its folder and its programs in the background.
	const mark = "--- next step"
	var script strings.Builder
	script.WriteString("set -e\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n")
	all := steps(t, text)
	var wants []step
	for _, s := range all {
		if s.kind == "sh" {
			fmt.Fprintf(&script, "%secho '%s'\n", s.text, mark)
			wants = append(wants, s)
		} else {
			fmt.Fprintf(&script, "cat >%s <<'end of the file'\n%send of the file\n", s.file, s.text)
		}
	}
	if len(all) < 8 || len(wants) < 5 {
		t.Fatalf("only %d steps", len(all))
	}
	shell := exec.Command("bash", "-c", script.String())
	shell.Dir, shell.Env = users.dir, users.env
	var stderr strings.Builder
	shell.Stderr = &stderr
	out, err := shell.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, &stderr)
	}
	for i, got := range strings.Split(strings.TrimSuffix(string(out), mark+"\n"), mark+"\n") {
		if want := wants[i]; want.want != "" && got != want.want {
			t.Errorf("after\n%s\nit printed\n%s\nand not\n%s", want.text, got, want.want)
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	port, err := neartest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}
