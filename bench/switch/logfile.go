package main

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
)

// logLines are the lines of a service's log.
type logLines struct {
	all, access, errors int
	stat                []string // those of caches, each minute
	other               string   // the first line that is not go-zero's
}

// readLog counts the lines of a log.
func readLog(path string) (l logLines, err error) {
	f, err := os.Open(path)
	if err != nil {
		return l, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		l.add(lines.Text())
	}
	return l, lines.Err()
}

func (l *logLines) add(line string) {
	l.all++
	var entry struct{ Level, Content string }
	if json.Unmarshal([]byte(line), &entry) != nil {
		if l.other == "" && !strings.HasPrefix(line, "Starting") {
			l.other = line
		}
		return
	}
	switch {
	case strings.HasPrefix(entry.Content, "cache("):
		l.stat = append(l.stat, entry.Content)
	case strings.HasPrefix(entry.Content, "[HTTP]"):
		l.access++
	case entry.Level != "info" && entry.Level != "stat":
		l.errors++
	}
}
