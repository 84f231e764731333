package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

// A process is a running service.
type process struct {
	*client
	cmd *exec.Cmd
	log *os.File // its stdout and stderr
}

// start starts a program that build returned, with a TTL for its cache of sessions, and
// waits until it answers.
func start(program string, ttl time.Duration) (*process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	at, err := packageDir(servicePkg)
	if err != nil {
		return nil, err
	}
	log, err := os.CreateTemp(filepath.Dir(program), "*.log")
	if err != nil {
		return nil, err
	}
	p := &process{
		client: newClient("http://127.0.0.1:" + strconv.Itoa(port)),
		cmd:    exec.Command(program, "-f", filepath.Join(at, "etc", "service.yaml")),
		log:    log,
	}
	p.cmd.Env = append(os.Environ(), "PORT="+strconv.Itoa(port), "SESSION_TTL="+ttl.String())
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	return p, p.answers()
}

// answers waits until the process answers.
func (p *process) answers() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		_, err := p.self()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			_, _ = p.stop()
			return fmt.Errorf("%s does not answer: %w", p.cmd.Path, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the process as an operator does, and returns its processor time, user
// and system, from the start to the end.
func (p *process) stop() (cpu time.Duration, err error) {
	p.close()
	defer p.log.Close()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	err = p.cmd.Wait()
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime(), err
}

var highWater = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)

// memory returns the peak memory of the process in bytes. The usage of a process that has
// ended would not do, as it includes the memory of the process that forked it.
func (p *process) memory() (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	found := highWater.FindSubmatch(status)
	if found == nil {
		return 0, fmt.Errorf("no VmHWM in the status of process %d", p.cmd.Process.Pid)
	}
	kib, err := strconv.Atoi(string(found[1]))
	return kib << 10, err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
