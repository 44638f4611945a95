package ledgerdb

import (
	"context"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// Unnamed is a reported commit of a part without a known version.
type Unnamed struct {
	Repo, Commit, Path string
	Target             string
}

// ListUnnamed returns an environment's reported commits without a version.
func (s *Store) ListUnnamed(ctx context.Context, environment string) ([]Unnamed, error) {
	var all []Unnamed
	err := s.ask(ctx, "versions_missing", []any{environment}, func(scan scanFunc) error {
		var u Unnamed
		err := scan(&u.Repo, &u.Commit, &u.Path, &u.Target)
		all = append(all, u)
		return err
	})
	return all, err
}

// WriteVersion stores the version of a commit.
func (s *Store) WriteVersion(ctx context.Context, u Unnamed, v ledger.Version) error {
	err := s.engine.transact(ctx, func(in session) error {
		return in.exec(ctx, "version_write", u.Repo, u.Commit, u.Path, v.Name, v.Build, v.Commit, unixOrNull(v.Built))
	})
	if err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	return nil
}
