// Package pgtest provides tests with a real PostgreSQL.
//
// What the package keeps true: the tests of a package share one server, which has ended when they
// have; each database belongs to one test, and is empty when that begins, or has empty tables only.
// Where the programs of PostgreSQL are not installed, tests are skipped and say why, or fail if
// FAIRLEAD_POSTGRES is "require".
package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// common is the server that the tests of this process share, once one has asked for it.
var common struct {
	sync.Mutex
	runs    bool // Run is under way
	server  *server
	failure error  // why there is none
	count   int    // of databases that tests were given
	left    []left // databases of tests that have ended
}

// left is a database that a test has had.
type left struct{ name, emptying string }

// dropTables are the statements that leave nothing.
const dropTables = "drop schema public cascade; create schema public"

// Run runs the tests of a package that use databases, and returns what TestMain exits with.
func Run(m interface{ Run() int }) int {
	common.Lock()
	common.runs = true
	common.Unlock()
	code := m.Run()
	common.Lock()
	defer common.Unlock()
	if common.server == nil {
		return code
	}
	err := common.server.stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		return max(code, 1)
	}
	return code
}

// Database is an empty database of a test.
type Database struct {
	// Address is its URL.
	Address string

	t      testing.TB
	name   string
	server *server

	emptying string // the statements that empty it for the next test
}

// Create creates an empty database, which nobody can use any more when the test ends. TestMain must
// call Run.
//
// A database that another test has had is emptied: PostgreSQL takes ten times longer to create one and
// to drop it. It gets another name, so that what that test has left running does not find it.
func Create(t testing.TB) *Database {
	t.Helper()
	return create(t, dropTables)
}

// CreateWithTables is Create for tests that all make the same tables, which takes longer than to delete what
// is in them: a test gets those of the one before, emptied by the given statements.
func CreateWithTables(t testing.TB, emptying string) *Database {
	t.Helper()
	return create(t, emptying)
}

func create(t testing.TB, emptying string) *Database {
	t.Helper()
	s, number, found := share(t, emptying)
	db := &Database{t: t, name: fmt.Sprintf("test%d", number), server: s, emptying: emptying}
	db.Address = s.address(db.name)
	if found.name == "" {
		s.exec(t, "create database "+db.name+" template template0")
	} else {
		s.exec(t, "alter database "+found.name+" rename to "+db.name)
		db.LetIn()
		if found.emptying != emptying {
			found.emptying = dropTables
		}
		db.Exec(found.emptying)
	}
	t.Cleanup(func() {
		db.CutOff()
		common.Lock()
		defer common.Unlock()
		common.left = append(common.left, left{db.name, db.emptying})
	})
	return db
}

// ForgetTables has the next test make its tables itself: those of this one are not as they were made.
func (d *Database) ForgetTables() { d.emptying = dropTables }

// Exec runs statements in the database, as another program.
func (d *Database) Exec(statements string) {
	d.t.Helper()
	execAt(d.t, d.Address, statements)
}

// Query returns the first column of the first row of an answer, as text.
func (d *Database) Query(question string) string {
	d.t.Helper()
	rows := query(d.t, d.Address, question)
	if len(rows) == 0 {
		d.t.Fatal("there is no answer to ", question)
	}
	return rows[0]
}

// QueryAll runs statements, and returns the first columns of all that they return.
func (d *Database) QueryAll(statements string) []string {
	d.t.Helper()
	return query(d.t, d.Address, statements)
}

// CutOff ends all connections to the database, and lets no new one in.
func (d *Database) CutOff() {
	d.t.Helper()
	d.server.exec(d.t, "alter database "+d.name+" allow_connections false")
	d.server.exec(d.t, "select pg_terminate_backend(pid) from pg_stat_activity where datname = '"+d.name+"'")
}

// LetIn lets connections in again.
func (d *Database) LetIn() {
	d.t.Helper()
	d.server.exec(d.t, "alter database "+d.name+" allow_connections true")
}

// share returns the server, a number that no other test has, and a database that another test has left, if
// there is one: preferably one that can be emptied by the statements.
func share(t testing.TB, emptying string) (s *server, number int, found left) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves PostgreSQL out: SQLite has run the same cases")
	}
	common.Lock()
	defer common.Unlock()
	if !common.runs {
		t.Fatal("pgtest is for packages whose TestMain calls pgtest.Run")
	}
	if common.server == nil && common.failure == nil {
		common.server, common.failure = start()
	}
	switch {
	case common.failure != nil && os.Getenv("FAIRLEAD_POSTGRES") == "require":
		t.Fatal("there is no PostgreSQL for tests: ", common.failure)
	case common.failure != nil:
		t.Skip("there is no PostgreSQL for tests: ", common.failure)
	}
	common.count++
	if len(common.left) > 0 {
		at := max(0, slices.IndexFunc(common.left, func(l left) bool { return l.emptying == emptying }))
		found = common.left[at]
		common.left = slices.Delete(common.left, at, at+1)
	}
	return common.server, common.count, found
}

func (s *server) address(database string) string {
	return "postgres:///" + database + "?" + url.Values{"host": {s.dir}, "user": {userName}}.Encode()
}

// exec runs statements in the server's own database.
func (s *server) exec(t testing.TB, statements string) {
	t.Helper()
	execAt(t, s.address("postgres"), statements)
}

func execAt(t testing.TB, address, statements string) {
	t.Helper()
	query(t, address, statements)
}

func query(t testing.TB, address, statements string) (first []string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // also at the end of a test
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	results, err := conn.PgConn().Exec(ctx, statements).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
	for _, r := range results {
		for _, row := range r.Rows {
			first = append(first, string(row[0]))
		}
	}
	return first
}
