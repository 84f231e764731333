//go:build unix

package postgrestest

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// other returns whom to run the server as: it refuses to run as root.
func other() *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(u.Uid, 10, 32)
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	return nil
}

func asOther(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Credential: other()} }

// give makes a folder that of who runs the server.
func give(dir string) error {
	if u := other(); u != nil {
		return os.Chown(dir, int(u.Uid), int(u.Gid))
	}
	return nil
}
