package ledgerdb

import (
	"context"
	"fmt"
)

// migration brings a database from one version of the schema to the next. It is never changed once it
// was released.
type migration struct{ name, text string }

func readMigrations(engine string) ([]migration, error) {
	var all []migration
	err := eachSQLFile(migrationFiles, "migrations", engine, func(name, text string) { all = append(all, migration{name, text}) })
	return all, err
}

// migrator is an engine as a migration sees it, within one transaction.
type migrator interface {
	// version returns how many migrations were done.
	version(ctx context.Context) (int, error)
	// migrate runs the statements of a migration.
	migrate(ctx context.Context, text string) error
	setVersion(ctx context.Context, version int) error
}

// runMigrations brings a database to the newest version of the schema. It goes forward only.
func runMigrations(ctx context.Context, m migrator, engine string) error {
	all, err := readMigrations(engine)
	if err != nil {
		return err
	}
	version, err := m.version(ctx)
	if err != nil || version == len(all) {
		return err
	}
	if version > len(all) {
		return describeNewer(version, len(all))
	}
	for _, next := range all[version:] {
		if err := m.migrate(ctx, next.text); err != nil {
			return fmt.Errorf("migrate the ledger to %s: %w", next.name, err)
		}
	}
	return m.setVersion(ctx, len(all))
}

// compareVersion returns why a database cannot be read that has a version of the schema.
func compareVersion(version, known int) error {
	switch {
	case version > known:
		return describeNewer(version, known)
	case version < known:
		return fmt.Errorf("the schema has version %d, and the daemon has not brought it to %d yet", version, known)
	}
	return nil
}

func describeNewer(version, known int) error {
	return fmt.Errorf("%w: its schema has version %d, and this program knows %d", ErrNewer, version, known)
}
