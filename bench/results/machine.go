package results

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
)

// A Machine is where something was measured.
type Machine struct {
	CPU      string
	Cores    int
	Platform string
	Go       string
}

// String returns all of it in one line.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s, %s", m.CPU, m.Cores, m.Platform, m.Go)
}

var modelName = regexp.MustCompile(`(?m)^model name\s*: (.*)$`)

// ThisMachine describes the one that the program runs on.
func ThisMachine() Machine {
	m := Machine{CPU: "unknown CPU", Cores: runtime.NumCPU(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	info, _ := os.ReadFile("/proc/cpuinfo") // there is none but on Linux
	if found := modelName.FindSubmatch(info); found != nil {
		m.CPU = string(found[1])
	}
	return m
}

// Commit returns the commit that is checked out, with "+dirty" if files differ
// from it.
func Commit() string {
	hash, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	commit := strings.TrimSpace(string(hash))
	if status, err := exec.Command("git", "status", "--porcelain").Output(); err != nil || len(status) > 0 {
		commit += "+dirty"
	}
	return commit
}
