package ledgerdb

import (
	"context"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// Unnamed is a commit that clusters report of a part, and that no version is known of.
type Unnamed struct {
	Repo, Commit, Path string
	Target             string // the deployment target that the part is of
}

// ListUnnamed returns the commits that clusters of an environment report, and that no version is known
// of.
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

// WriteVersion writes what people call a commit that clusters report of a part.
func (s *Store) WriteVersion(ctx context.Context, u Unnamed, v ledger.Version) error {
	err := s.engine.transact(ctx, func(in session) error {
		return in.exec(ctx, "version_write", u.Repo, u.Commit, u.Path, v.Name, v.Build, v.Commit, unixOrNull(v.Built))
	})
	if err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	return nil
}
