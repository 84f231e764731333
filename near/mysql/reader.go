package mysql

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/google/uuid"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
)

// A reader makes changes of the events of a log, and puts them to the gate. Events come in groups:
// a transaction, or a statement that commits by itself.
type reader struct {
	layouts map[tableName]*layout
	gate    *gate
	end     place // of the last event; of MySQL, of the last group

	known position // of MariaDB, before which events were there before the session

	open  change // of the group that is being read
	group state

	// prepared has the changes of XA transactions that were prepared since the stream began. They
	// are in the log then, and can be read when another group commits them.
	prepared map[string]change
}

// A state says where in the groups of the log a reader is.
type state int

const (
	outside state = iota
	alone         // the next statement is a group of its own
	within
)

// HandleEvent is called for one event after the other. An error ends the stream.
func (r *reader) HandleEvent(e *replication.BinlogEvent) error {
	grouped := r.group != outside
	err := r.follow(e)
	if r.knows(e.Header) {
		r.open, r.prepared, err = change{}, nil, nil
	}
	if err != nil {
		return err
	}
	if len(r.open.keys) > r.gate.limit {
		r.open.all, r.open.keys = true, nil
	}
	if p, ok := r.end.(position); ok && placed(e.Header) {
		r.end = p.at(e.Header.LogPos)
	}
	if p, ok := r.end.(position); ok && r.group == outside && grouped {
		r.gate.order(p) // commits become visible in their order
	}
	if r.group == outside {
		r.open.end = r.end
		r.gate.put(r.open)
		r.open = change{}
	}
	return nil
}

// knows reports whether an event was there before the session, and is of use for the order of commits
// alone.
func (r *reader) knows(h *replication.EventHeader) bool {
	p, ok := r.end.(position)
	return ok && placed(h) && p.number == r.known.number && uint64(h.LogPos) <= r.known.offset
}

// placed reports whether an event has its own end in the log, as those do not that the server makes
// up for a replica.
func placed(h *replication.EventHeader) bool {
	switch h.EventType {
	case replication.ROTATE_EVENT, replication.FORMAT_DESCRIPTION_EVENT, replication.HEARTBEAT_EVENT:
		return false
	}
	return h.Flags&replication.LOG_EVENT_ARTIFICIAL_F == 0
}

func (r *reader) follow(e *replication.BinlogEvent) error {
	switch event := e.Event.(type) {
	case *replication.RotateEvent:
		return r.rotate(string(event.NextLogName), event.Position)
	case *replication.MariadbBinlogCheckPointEvent: // all in the files before that one was committed
		if p, err := newPosition(string(event.Info), 0); err == nil {
			r.gate.order(p)
		}
	case *replication.MariadbGTIDEvent:
		r.begin(nil)
		if !event.IsStandalone() {
			r.group = within
		}
	case *replication.GTIDEvent:
		return r.beginMySQL(event)
	case *replication.GtidTaggedLogEvent:
		return r.beginMySQL(&event.GTIDEvent)
	case *replication.TransactionPayloadEvent:
		for _, inner := range event.Events {
			if err := r.follow(inner); err != nil {
				return err
			}
		}
	case *replication.RowsEvent:
		return r.rows(event)
	case *replication.QueryEvent:
		return r.statement(string(event.Schema), string(event.Query))
	case *replication.XIDEvent:
		r.group = outside
	case *replication.ExecuteLoadQueryEvent:
		r.open.all = true
	case *replication.GenericEvent:
		switch e.Header.EventType {
		case replication.XA_PREPARE_LOG_EVENT:
			return r.prepare(event.Data)
		case replication.INCIDENT_EVENT:
			return errors.New("near/mysql: the server has lost changes that the log should have")
		}
	}
	return nil
}

// rotate goes on in the next file.
func (r *reader) rotate(file string, offset uint64) error {
	if _, ok := r.end.(position); !ok {
		return nil
	}
	next, err := newPosition(file, offset)
	if err == nil && r.end.covers(next) && next != r.end { // the first event names the file once more
		return fmt.Errorf("near/mysql: the binary log goes back from %v to %v", r.end, next)
	}
	r.end = next
	return err
}

func (r *reader) begin(end place) {
	r.open, r.group = change{}, alone
	if end != nil {
		r.end = end
	}
}

func (r *reader) beginMySQL(event *replication.GTIDEvent) error {
	id, err := uuid.FromBytes(event.SID)
	if err != nil || event.GNO == 0 {
		return errors.Join(err, errors.New("near/mysql: a transaction in the binary log has no GTID: want gtid_mode=ON"))
	}
	one := gomysql.NewMysqlGTIDSet()
	one.AddGTIDWithTag(id, event.Tag, event.GNO)
	r.begin(transactions{&one})
	return nil
}

// prepare keeps the changes of an XA transaction until it commits. One that commits in one phase
// does so now.
func (r *reader) prepare(data []byte) error {
	const header = 13
	if len(data) < header {
		return fmt.Errorf("near/mysql: an XA transaction of %d bytes in the binary log", len(data))
	}
	number := func(at int) int {
		return int(uint32(data[at]) | uint32(data[at+1])<<8 | uint32(data[at+2])<<16 | uint32(data[at+3])<<24)
	}
	onePhase, format, global, branch := data[0] != 0, number(1), number(5), number(9)
	if global < 0 || branch < 0 || len(data) < header+global+branch {
		return errors.New("near/mysql: an XA transaction in the binary log has no name")
	}
	r.group = outside
	if onePhase {
		return nil
	}
	name := data[header:]
	xid := fmt.Sprintf("X'%s',X'%s',%d", hex.EncodeToString(name[:global]), hex.EncodeToString(name[global:global+branch]), format)
	if r.prepared == nil {
		r.prepared = map[string]change{}
	}
	if r.keysPrepared()+len(r.open.keys) > r.gate.limit {
		r.open = change{all: true}
	}
	r.prepared[xid] = r.open
	r.open = change{}
	return nil
}

func (r *reader) keysPrepared() (n int) {
	for _, c := range r.prepared {
		n += len(c.keys)
	}
	return n
}

// xa ends an XA transaction: its changes can be read from now on, or never. One that was prepared
// before the stream began may have changed any key.
func (r *reader) xa(verb, xid string) {
	c, ok := r.prepared[xid]
	delete(r.prepared, xid)
	switch {
	case verb != "COMMIT":
	case ok:
		r.open = c
	default:
		r.open.all = true
	}
}

// statement handles what is in the log as text.
func (r *reader) statement(schema, query string) error {
	verb, rest := word(query)
	switch verb {
	case "BEGIN":
		r.group = within
		return nil
	case "COMMIT":
		r.group = outside
		return nil
	case "ROLLBACK":
		if next, _ := word(rest); next != "TO" { // a savepoint
			r.group = outside
		}
		return nil
	case "SAVEPOINT", "RELEASE":
		return nil
	case "XA":
		return r.xaStatement(rest)
	}
	if r.group == alone {
		r.group = outside
	}
	concerns := r.mentions(schema, query, verb == "DROP")
	switch kinds[verb] {
	case harmless:
	case truncation:
		r.open.all = r.open.all || concerns
	case definition:
		if concerns {
			return fmt.Errorf("near/mysql: a table was altered: %.100s", query)
		}
	case manipulation: // also through views, triggers and functions
		r.open.all = true
	default:
		r.open.all = true
		if concerns {
			return fmt.Errorf("near/mysql: a table may have been altered: %.100s", query)
		}
	}
	return nil
}

func (r *reader) xaStatement(rest string) error {
	verb, xid := word(rest)
	switch verb {
	case "START", "BEGIN":
		r.group = within
	case "COMMIT", "ROLLBACK":
		r.group = outside
		r.xa(verb, strings.TrimSpace(xid))
	}
	return nil
}

// Kinds of statements, by what they may do to rows of a table that they name, or of others.
type kind int

const (
	unknown      kind = iota
	harmless          // nothing
	truncation        // removes rows of the table that it names
	definition        // alters or removes what it names
	manipulation      // changes rows
)

var kinds = map[string]kind{
	"ANALYZE": harmless, "OPTIMIZE": harmless, "CHECK": harmless, "FLUSH": harmless, "GRANT": harmless, "REVOKE": harmless,
	"TRUNCATE": truncation,
	"CREATE":   definition, "ALTER": definition, "DROP": definition, "RENAME": definition,
	"INSERT": manipulation, "UPDATE": manipulation, "DELETE": manipulation, "REPLACE": manipulation, "LOAD": manipulation, "CALL": manipulation,
}

// word returns the first word of a statement in upper case, and the rest.
func word(query string) (first, rest string) {
	query = strings.TrimLeft(query, " \t\r\n")
	end := strings.IndexFunc(query, func(r rune) bool { return (r|0x20) < 'a' || (r|0x20) > 'z' })
	if end < 0 {
		end = len(query)
	}
	return strings.ToUpper(query[:end]), query[end:]
}

// mentions reports whether a statement may be about a table of ours: whether it has its name, and
// its schema is named too or the one in which the statement ran.
func (r *reader) mentions(schema, query string, schemas bool) bool {
	query = strings.ToLower(query)
	has := func(name string) bool {
		name = strings.ToLower(name)
		return strings.Contains(query, name) || strings.Contains(query, strings.ReplaceAll(name, "`", "``")) || !plain(name)
	}
	for name := range r.layouts {
		if has(name.table) && (strings.EqualFold(name.schema, schema) || has(name.schema)) || schemas && has(name.schema) {
			return true
		}
	}
	return false
}

// plain reports whether a name has the same bytes in every character set.
func plain(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r > '~' })
}
