package ledgerdb

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// migration is one step of the schema. It never changes after a release, nor does its number, which is
// the version of a database that has it.
type migration struct {
	number     int
	name, text string
}

func readMigrations(engine string) ([]migration, error) {
	var all []migration
	err := eachSQLFile(migrationFiles, "migrations", engine, func(name, text string) {
		digits, _, _ := strings.Cut(name, "_")
		number, _ := strconv.Atoi(digits) // TestNumbersOfMigrations
		all = append(all, migration{number, name, text})
	})
	return all, err
}

func newestVersion(all []migration) int { return all[len(all)-1].number }

type migrator interface {
	version(ctx context.Context) (int, error)
	migrate(ctx context.Context, text string) error
	setVersion(ctx context.Context, version int) error
}

func runMigrations(ctx context.Context, m migrator, engine string) error {
	all, err := readMigrations(engine)
	if err != nil {
		return err
	}
	return runAfter(ctx, m, all)
}

// runAfter migrates to the newest schema, and never back. A database of a version before the first migration is left as it
// is.
func runAfter(ctx context.Context, m migrator, all []migration) error {
	version, err := m.version(ctx)
	switch {
	case err != nil:
		return err
	case version > newestVersion(all):
		return describeNewer(version, newestVersion(all))
	case version > 0 && version < all[0].number:
		return fmt.Errorf("its schema has version %d, of a program before the first release, and this one begins with %d; it can be removed: a new ledger fills with what Git holds and clusters report", version, all[0].number)
	case version == newestVersion(all):
		return nil
	}
	for _, next := range all {
		if next.number <= version {
			continue
		}
		if err := m.migrate(ctx, next.text); err != nil {
			return fmt.Errorf("migrate the ledger to %s: %w", next.name, err)
		}
	}
	return m.setVersion(ctx, newestVersion(all))
}

func compareVersion(version, known int) error {
	switch {
	case version > known:
		return describeNewer(version, known)
	case version < known:
		return fmt.Errorf("%w: its schema has version %d, and the daemon has not brought it to %d yet", ErrOlder, version, known)
	}
	return nil
}

func describeNewer(version, known int) error {
	return fmt.Errorf("%w: its schema has version %d, and this program knows %d", ErrNewer, version, known)
}
