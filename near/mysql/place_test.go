package mysql

import (
	"math"
	"strings"
	"testing"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/google/uuid"

	"github.com/pinwheel-cache/pinwheel/near/rows"
)

// Catches: files that are compared as text, and an offset of which the log has the lower 32 bits.
func TestPositions(t *testing.T) {
	at := func(file string, offset uint64) position {
		p, err := newPosition(file, offset)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	ordered := []position{at("log.999999", 4), at("log.999999", 700), at("log.1000000", 4), at("log.1000000", math.MaxUint32), at("log.1000000", math.MaxUint32+9)}
	for i, p := range ordered {
		for j, q := range ordered {
			if got := p.covers(q); got != (i >= j) {
				t.Errorf("%v covers %v: %t", p, q, got)
			}
			if got := p.with(q); got != ordered[max(i, j)] {
				t.Errorf("%v with %v: %v", p, q, got)
			}
		}
	}
	p := at("log.1", 1<<32-100)
	for _, want := range []uint64{1<<32 - 50, 1<<32 + 7, 1<<32 + 900} {
		if p = p.at(uint32(want)); p.offset != want {
			t.Errorf("at %d, want %d", p.offset, want)
		}
	}
	if back := p.at(uint32(p.offset) - 5); back != p {
		t.Errorf("an event before the last one: %v", back)
	}
	if _, err := newPosition("log", 4); err == nil {
		t.Error("a file without a number")
	}
}

const server1, server2 = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"

func executed(t *testing.T, set string) transactions {
	t.Helper()
	parsed, err := gomysql.ParseMysqlGTIDSet(set)
	if err != nil {
		t.Fatal(err)
	}
	return transactions{parsed.(*gomysql.MysqlGTIDSet)}
}

// Catches: sets of transactions that are joined in place, or compared by their last one: MySQL commits
// them in any order.
func TestTransactions(t *testing.T) {
	first := executed(t, server1+":1-5:8")
	both := first.with(executed(t, server2+":1"))
	if first.String() != server1+":1-5:8" {
		t.Errorf("a set was changed: %v", first)
	}
	for set, want := range map[string]bool{server1 + ":3": true, server1 + ":6": false, server1 + ":8": true, server2 + ":1": false, "": true} {
		if got := first.covers(executed(t, set)); got != want {
			t.Errorf("%v covers %q: %t", first, set, got)
		}
	}
	if !both.covers(first) || !both.covers(executed(t, server2+":1")) || first.covers(both) {
		t.Errorf("both are %v", both)
	}
}

// newReader returns a reader of a table of users with an id.
func newReader(end place) *reader {
	k := rows.Key{Texts: []string{"user:", ""}, Columns: []string{"id"}}
	l := &layout{keys: []rows.Key{k}, columns: map[string]column{"id": {}}, count: 1}
	return &reader{layouts: map[tableName]*layout{{"shop", "users"}: l}, gate: newGate(end, 100), end: end}
}

// Catches: with MySQL, a transaction that is told before its own number is among those executed, or is
// not told then, and a group that does not end.
func TestReaderOfMySQL(t *testing.T) {
	r := newReader(executed(t, server1+":1-4"))
	hear := func(kind replication.EventType, event replication.Event) {
		t.Helper()
		if err := r.HandleEvent(&replication.BinlogEvent{Header: &replication.EventHeader{EventType: kind, LogPos: 99}, Event: event}); err != nil {
			t.Fatal(err)
		}
	}
	id := uuid.MustParse(server1)
	sid := id[:]
	user := &replication.RowsEvent{ColumnCount: 1, Rows: [][]any{{int64(7)}}, SkippedColumns: [][]int{nil},
		Table: &replication.TableMapEvent{Schema: []byte("shop"), Table: []byte("users")}}
	query := func(text string) *replication.QueryEvent {
		return &replication.QueryEvent{Schema: []byte("shop"), Query: []byte(text)}
	}
	hear(replication.GTID_EVENT, &replication.GTIDEvent{SID: sid, GNO: 6})
	hear(replication.QUERY_EVENT, query("BEGIN"))
	hear(replication.WRITE_ROWS_EVENTv2, user)
	if r.gate.has(executed(t, server1+":6")) {
		t.Error("a transaction was reached before its end")
	}
	hear(replication.XID_EVENT, &replication.XIDEvent{})
	if got := r.gate.open(executed(t, server1+":1-5:7")); len(got.keys) > 0 {
		t.Errorf("told %q, which cannot be read yet", got.keys)
	}
	if got := r.gate.open(executed(t, server1+":1-4:6")); len(got.keys) != 1 || got.keys[0] != "user:7" || got.all {
		t.Errorf("told %+v", got)
	}
	if !r.gate.has(executed(t, server1+":1-4:6")) || r.gate.has(executed(t, server1+":1-6")) {
		t.Errorf("reached %v", r.gate.reached)
	}
	hear(replication.GTID_EVENT, &replication.GTIDEvent{SID: sid, GNO: 5})
	hear(replication.QUERY_EVENT, query("TRUNCATE users"))
	if got := r.gate.open(executed(t, server1+":1-6")); !got.all {
		t.Error("TRUNCATE was not told")
	}
	hear(replication.TRANSACTION_PAYLOAD_EVENT, &replication.TransactionPayloadEvent{Events: []*replication.BinlogEvent{
		{Header: &replication.EventHeader{}, Event: user}, {Header: &replication.EventHeader{}, Event: &replication.XIDEvent{}}}})
	if got := r.gate.open(executed(t, server1+":1-6")); len(got.keys) != 1 {
		t.Errorf("of compressed transactions told %+v", got)
	}
	if err := r.beginMySQL(&replication.GTIDEvent{SID: sid}); err == nil || !strings.Contains(err.Error(), "gtid_mode=ON") {
		t.Error(err)
	}
}

// Catches: a statement that changes or alters a table of ours and is passed over, and one of others by
// which everything is forgotten.
func TestStatements(t *testing.T) {
	for text, want := range map[string]string{
		"ANALYZE TABLE users": "", "GRANT SELECT ON users TO x": "", "savepoint `a`": "", "CREATE TABLE other (id int)": "",
		"DROP TABLE shop.other": "altered", // DROP DATABASE names the schema too
		"TRUNCATE TABLE other":  "", "TRUNCATE `users`": "all", "truncate users": "all",
		"ALTER TABLE `Users` ADD x int": "altered", "RENAME TABLE a TO b, b TO users": "altered", "DROP DATABASE shop": "altered",
		"UPDATE other SET x = 1": "all", "CALL p()": "all", "/* hi */ ALTER TABLE users ADD x int": "altered", "/* hi */ DELETE FROM seen": "all",
		"SET STATEMENT x=1 FOR ALTER TABLE users ADD x int": "altered",
	} {
		r := newReader(position{})
		err := r.statement("shop", text)
		got := ""
		switch {
		case err != nil:
			got = "altered"
		case r.open.all:
			got = "all"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	r := newReader(position{})
	if err := r.statement("elsewhere", "ALTER TABLE users ADD x int"); err != nil {
		t.Error("a table of another schema:", err)
	}
	if err := r.statement("elsewhere", "ALTER TABLE `shop`.`users` ADD x int"); err == nil {
		t.Error("a table with its schema is passed over")
	}
}

// FuzzPrepare has XA transactions with any name in the log.
//
// Catches: a name beyond the end of the event.
func FuzzPrepare(f *testing.F) {
	f.Add([]byte("\x00\a\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00ggbb"))
	f.Add([]byte("\x01\a\x00\x00\x00\xff\xff\xff\xff\x02\x00\x00\x00ggbb"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newReader(position{})
		r.open.keys = []string{"user:7"}
		err := r.prepare(data)
		if kept := len(r.prepared) == 1; err == nil && kept == (data[0] != 0) {
			t.Errorf("%d kept", len(r.prepared))
		}
	})
}
