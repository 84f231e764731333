package mysql

import (
	"fmt"
	"strconv"
	"strings"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
)

// A place is one in the binary log: a file and an offset of MariaDB, or a set of transactions of
// MySQL.
type place interface {
	// covers reports whether all that is before another place is before this one.
	covers(other place) bool

	// with returns the place that has before it what is before this one or another.
	with(other place) place
}

// A position is a place of MariaDB. The log is one sequence, so the later position covers all.
type position struct {
	file   string
	number uint64 // of the file
	offset uint64
}

// newPosition returns the position at an offset of a file such as binlog.000007.
func newPosition(file string, offset uint64) (position, error) {
	number, err := strconv.ParseUint(file[strings.LastIndexByte(file, '.')+1:], 10, 64)
	if err != nil {
		return position{}, fmt.Errorf("near/mysql: the file %q of the binary log has no number at its end", file)
	}
	return position{file, number, offset}, nil
}

func (p position) covers(other place) bool {
	o := other.(position)
	return p.number > o.number || p.number == o.number && p.offset >= o.offset
}

func (p position) with(other place) place {
	if p.covers(other) {
		return p
	}
	return other
}

// at returns the position at the end of an event, of which the log has the lower 32 bits. Events
// come in order, so they have begun anew if they go back by much.
func (p position) at(low uint32) position {
	const half = 1 << 31
	if now := uint32(p.offset); low < now && now-low < half {
		return p
	} else if low < now {
		p.offset += 1 << 32
	}
	p.offset = p.offset&^(1<<32-1) | uint64(low)
	return p
}

// header is more than a file of the log has before its first commit.
const header = 1 << 16

// start returns where a stream begins that has all from a position on: in a new file at its start,
// where the log says whether commits of the file before still wait. They may have changed any key.
func (p position) start(g *gate) position {
	if p.offset >= header {
		g.order(position{p.file, p.number, header})
		return p
	}
	p.offset = 4
	g.reached = p
	g.put(change{end: p, all: true})
	return p
}

// Transactions are a place of MySQL: those that were executed. They are never changed, as other
// goroutines have them too.
type transactions struct{ *gomysql.MysqlGTIDSet }

func (t transactions) covers(other place) bool {
	return t.Contain(other.(transactions).MysqlGTIDSet)
}

func (t transactions) with(other place) place {
	joined := t.Clone().(*gomysql.MysqlGTIDSet)
	if err := joined.Update(other.(transactions).String()); err != nil {
		return t // it has the text of a set
	}
	return transactions{joined}
}
