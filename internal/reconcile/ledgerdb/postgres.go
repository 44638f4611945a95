package ledgerdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgres is an engine for PostgreSQL 13 or later. Several processes may write, one at a time.
type postgres struct {
	pool       *pgxpool.Pool
	statements map[string]string
	long       bool
}

const (
	// postgresFiles marks SQL files for this engine.
	postgresFiles = "pg"
	// connectTimeout is the default of the address.
	connectTimeout = 5 * time.Second
	// transactionTimeout includes waiting for other processes.
	transactionTimeout = 30 * time.Second
	// longTimeout is for transactions over a whole ledger.
	longTimeout = 24 * time.Hour
)

// beginWriting serializes writers and limits the lock of one that lost its connection. Plans live
// as long as a connection: one made for an almost empty table would later read all of it, so
// sequential scans are off. Their penalty would trigger JIT, which costs more than the query. The
// statements already join from key to key, so no search is needed.
const beginWriting = "set local lock_timeout = '15s'; set local idle_in_transaction_session_timeout = '15s'; " +
	"set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off; set local jit = off; " +
	"set local join_collapse_limit = 1; " +
	"select pg_advisory_xact_lock(7811886655208271)"

// ErrAddress does not say which part is wrong, because the address may contain a password.
var ErrAddress = errors.New("the address of the database is not valid: write it as postgres://USER:PASSWORD@HOST:5432/DATABASE, with %XX for characters that a URL cannot have")

// CheckPostgresAddress returns ErrAddress for an invalid address.
func CheckPostgresAddress(address string) error {
	_, err := parsePostgresAddress(address)
	return err
}

func parsePostgresAddress(address string) (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, ErrAddress
	}
	if c.ConnConfig.ConnectTimeout == 0 {
		c.ConnConfig.ConnectTimeout = connectTimeout
	}
	c.ConnConfig.RuntimeParams["application_name"] = "fairlead"
	c.MaxConns = maxReaders + 1
	return c, nil
}

// OpenPostgres opens the ledger in a PostgreSQL database, which may be empty. Errors include
// ErrNewer and ErrAddress, and never the password.
func OpenPostgres(ctx context.Context, address string) (*Store, error) {
	return openPostgres(ctx, address, func(e *postgres) error {
		return e.inTransaction(ctx, func(ctx context.Context, tx pgx.Tx) error {
			return runMigrations(ctx, postgresMigrator{tx}, postgresFiles)
		})
	})
}

// ReadPostgres opens a daemon's ledger in PostgreSQL for reading. Errors are as in OpenPostgres.
func ReadPostgres(ctx context.Context, address string) (*Store, error) {
	return openPostgres(ctx, address, func(e *postgres) error {
		all, err := readMigrations(postgresFiles)
		if err != nil {
			return err
		}
		var version int
		err = e.pool.QueryRow(ctx, "select coalesce(max(version), 0) from schema_version").Scan(&version)
		if err != nil {
			return err
		}
		return compareVersion(version, newestVersion(all))
	})
}

func openPostgres(ctx context.Context, address string, prepare func(*postgres) error) (*Store, error) {
	config, err := parsePostgresAddress(address)
	if err != nil {
		return nil, err
	}
	e := &postgres{}
	e.statements, err = readStatements(postgresFiles)
	if err != nil {
		return nil, err
	}
	e.pool, err = pgxpool.NewWithConfig(ctx, config)
	if err == nil {
		err = prepare(e)
	}
	if err != nil {
		if e.pool != nil {
			e.pool.Close()
		}
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	store := newStore(e)
	store.shared = true
	return store, nil
}

type postgresMigrator struct{ tx pgx.Tx }

func (m postgresMigrator) version(ctx context.Context) (n int, err error) {
	_, err = m.tx.Exec(ctx, "create table if not exists schema_version(version bigint not null)")
	if err != nil {
		return 0, err
	}
	err = m.tx.QueryRow(ctx, "select coalesce(max(version), 0) from schema_version").Scan(&n)
	return n, err
}

func (m postgresMigrator) migrate(ctx context.Context, text string) error {
	_, err := m.tx.Exec(ctx, text)
	return err
}

func (m postgresMigrator) setVersion(ctx context.Context, version int) error {
	_, err := m.tx.Exec(ctx, "delete from schema_version")
	if err == nil {
		_, err = m.tx.Exec(ctx, "insert into schema_version(version) values ($1)", version)
	}
	return err
}

// inTransaction runs work while no other process writes.
func (e *postgres) inTransaction(ctx context.Context, work func(context.Context, pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout())
	defer cancel()
	err := pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, beginWriting)
		if err == nil && e.long { // an import's source may stall
			_, err = tx.Exec(ctx, "set local idle_in_transaction_session_timeout = 0")
		}
		if err == nil {
			err = work(ctx, tx)
		}
		return err
	})
	return describePostgresError(err)
}

func (e *postgres) transact(ctx context.Context, work func(session) error) error {
	return e.inTransaction(ctx, func(ctx context.Context, tx pgx.Tx) error {
		s := &postgresSession{statements: e.statements, tx: tx}
		err := work(s)
		if err == nil {
			err = s.send(ctx)
		}
		return err
	})
}

func (e *postgres) read(ctx context.Context, work func(session) error) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout())
	defer cancel()
	err := pgx.BeginTxFunc(ctx, e.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		return work(&postgresSession{statements: e.statements, tx: tx})
	})
	return describePostgresError(err)
}

func (e *postgres) allowLong() { e.long = true }

func (e *postgres) timeout() time.Duration {
	if e.long {
		return longTimeout
	}
	return transactionTimeout
}

func (e *postgres) shrink(context.Context) error { return nil }

func (e *postgres) close() error {
	e.pool.Close()
	return nil
}

func describePostgresError(err error) error {
	var found *pgconn.PgError
	if errors.As(err, &found) && found.Code == diskFull {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

const diskFull = "53100"
