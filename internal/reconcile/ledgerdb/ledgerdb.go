// Package ledgerdb stores in a database what clusters report, and what they should run.
//
// What clusters say is in the tables cluster, cluster_name, object, state, evidence, span, revision and
// message; a span is a time in which an object said the same. What they should run is in environment,
// cluster_type, output (the commits of output branches, numbered by seq), desired_type (the folder of a
// cluster type), assignment and desired (the reconciler.yaml of a deployment target on a cluster type),
// reconciler_file and part (the objects in one), and version. A row of desired or desired_type holds at
// an output if from_seq <= seq, and to_seq is null or greater than seq. The two sides meet by keys: an
// object of a cluster of the type is a part by its name, a revision is an output by its sha. In arrival
// they are brought together: when an output came to a cluster.
//
// What the package keeps true: a batch is written whole or not at all, and may be written again; a
// database of a newer program is left alone; what is read back is what was known when the last batch
// was written. The statements are those in queries, which two engines can share; what is of one engine
// is in its own file. A database may be lost: what the clusters say next, and Git, make it right.
package ledgerdb

import (
	"context"
	"errors"
)

// ErrNewer is the error for a database that a newer program has written.
var ErrNewer = errors.New("the ledger was written by a newer version of Fairlead")

// ErrDamaged is the error for a file that is no database, or not a whole one.
var ErrDamaged = errors.New("the ledger is damaged")

// ErrRestored is the error for a shared database that no longer has what this process has last read or
// written: it was emptied, or is as it was earlier.
var ErrRestored = errors.New("the database has lost what was written last")

// ErrFull is the error where there is no room for a batch.
var ErrFull = errors.New("there is no room left for the ledger")

// engine is a database. One batch is written at a time.
type engine interface {
	// transact calls work in a transaction that may write, and commits unless work fails.
	transact(ctx context.Context, work func(session) error) error
	// read calls work in a transaction that only reads; any number may at a time.
	read(ctx context.Context, work func(session) error) error
	// allowLong lets transactions take as long as it takes to read or write a whole ledger.
	allowLong()
	// shrink gives room that is not used back to the system.
	shrink(ctx context.Context) error
	close() error
}

// session runs the statements of a transaction, by their names: see queries.
type session interface {
	exec(ctx context.Context, statement string, args ...any) error
	// execAll runs a statement for each of some rows of numbers, none of which changes what another one
	// does.
	execAll(ctx context.Context, statement string, all rows) error
	// query calls each for every row, with the function that reads its columns.
	query(ctx context.Context, statement string, args []any, each func(scan scanFunc) error) error
	// queryEach is query for each of some ids.
	queryEach(ctx context.Context, statement string, ids []int64, each func(scan scanFunc) error) error
}

// rows are rows of numbers, each of the same width. Which of them stand for null if they are 0 is in the
// statements.
type rows struct {
	width  int
	values []int64
}

// newRows returns no rows, with room for some.
func newRows(width, room int) rows { return rows{values: make([]int64, 0, width*room)} }

func (r *rows) add(values ...int64) {
	r.width, r.values = len(values), append(r.values, values...)
}

// scanFunc reads the columns of a row, as that of [database/sql.Rows] does.
type scanFunc = func(columns ...any) error

// Store is a ledger in a database. Any number of goroutines may read, and one may write.
type Store struct {
	engine engine
	shared bool // other processes may write, too
	ids    identities
	// generation is that of the last change that was read or written, in a shared database.
	generation int64
}

func newStore(e engine) *Store { return &Store{engine: e, ids: newIdentities()} }

// Close closes the database.
func (s *Store) Close() error { return s.engine.close() }
