// Package ledgerdb stores in a database what clusters report, and what they should run.
//
// Reports are in the tables cluster, cluster_name, object, state, evidence, span, revision and
// message. Wanted state is in environment, cluster_type, output (commits, numbered by seq),
// desired_type (folders), assignment and desired (reconciler.yaml files), reconciler_file and part
// (their objects), and version. A row of desired or desired_type is valid if from_seq <= seq and
// (to_seq is null or seq < to_seq). Objects join parts by name, and revisions join outputs by sha.
// Table arrival has when an output reached a cluster, and plan has sent plans.
//
// A batch is written as a whole and may be written again. A database of a newer program is not
// touched. Statements in queries are for both engines or for one. Later reports and Git restore a
// lost database.
package ledgerdb

import (
	"context"
	"errors"
)

// ErrNewer reports a database of a newer program.
var ErrNewer = errors.New("the ledger was written by a newer version of Fairlead")

// ErrOlder reports a database that a daemon of this version migrates when it starts.
var ErrOlder = errors.New("the ledger was written by an older version of Fairlead")

// ErrDamaged reports a file that is not an intact database.
var ErrDamaged = errors.New("the ledger is damaged")

// ErrRestored reports a shared database that lost what this process last read or wrote, because it
// was emptied or restored.
var ErrRestored = errors.New("the database has lost what was written last")

// ErrFull reports a full database.
var ErrFull = errors.New("there is no room left for the ledger")

// engine is a database with one writer at a time.
type engine interface {
	// transact runs work in a writing transaction, and rolls back if it fails.
	transact(ctx context.Context, work func(session) error) error
	// read runs work in a read-only transaction; many may run at a time.
	read(ctx context.Context, work func(session) error) error
	// allowLong allows transactions over a whole ledger.
	allowLong()
	// shrink returns unused space to the system.
	shrink(ctx context.Context) error
	close() error
}

// session runs named statements in a transaction: see queries.
type session interface {
	exec(ctx context.Context, statement string, args ...any) error
	// execAll runs a statement for independent rows of numbers.
	execAll(ctx context.Context, statement string, all rows) error
	query(ctx context.Context, statement string, args []any, each func(scan scanFunc) error) error
	queryEach(ctx context.Context, statement string, ids []int64, each func(scan scanFunc) error) error
}

// rows has rows of equal width. The statements decide which zeros mean null.
type rows struct {
	width  int
	values []int64
}

func newRows(width, room int) rows { return rows{values: make([]int64, 0, width*room)} }

func (r *rows) add(values ...int64) {
	r.width, r.values = len(values), append(r.values, values...)
}

// scanFunc is the Scan of [database/sql.Rows].
type scanFunc = func(columns ...any) error

// Store is a ledger in a database, for any number of readers and one writer.
type Store struct {
	engine engine
	shared bool
	ids    identities
	// generation is the last change read or written, in a shared database.
	generation int64
}

func newStore(e engine) *Store { return &Store{engine: e, ids: newIdentities()} }

// Close closes the database.
func (s *Store) Close() error { return s.engine.close() }
