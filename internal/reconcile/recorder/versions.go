package recorder

import (
	"context"
	"time"

	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/wanted"
)

const (
	// versionInterval is the interval of searches for versions.
	versionInterval = time.Minute
	// maxNameless limits the commits remembered to have no version.
	maxNameless = 20_000
)

type versions struct {
	looked   map[string]time.Time // last search by environment
	nameless map[ledgerdb.Unnamed]bool
}

// recordVersions stores the versions of reported commits, if known repositories have descriptors
// that name them.
func (r *Recorder) recordVersions(ctx context.Context, b wanted.Branch) error {
	now := r.options.Now()
	v := &r.told.versions
	if b.FindRemote == nil || now.Sub(v.looked[b.Environment]) < versionInterval {
		return nil
	}
	v.looked[b.Environment] = now
	var unnamed []ledgerdb.Unnamed
	err := r.useStore(func(s *ledgerdb.Store) (err error) {
		unnamed, err = s.ListUnnamed(ctx, b.Environment)
		return err
	})
	if err != nil {
		return err
	}
	read := map[[2]string][]wanted.Descriptor{} // by repository and commit
	for _, u := range unnamed {
		remote := b.FindRemote(u.Repo)
		if v.nameless[u] || remote == nil || remote.Mirror() == nil || ctx.Err() != nil {
			continue
		}
		if _, err := remote.Mirror().Commit(u.Commit); err != nil {
			continue // not fetched yet
		}
		key := [2]string{giturl.Normalize(u.Repo), u.Commit}
		if _, known := read[key]; !known {
			read[key], err = wanted.ReadDescriptors(remote.Mirror(), u.Commit)
			if err != nil {
				return err
			}
		}
		version, found := wanted.FindVersion(read[key], b.Environment, u.Target, u.Path)
		if !found {
			v.remember(u)
			continue
		}
		err := r.useStore(func(s *ledgerdb.Store) error { return s.WriteVersion(ctx, u, version) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *versions) remember(u ledgerdb.Unnamed) {
	if len(v.nameless) >= maxNameless {
		clear(v.nameless)
	}
	v.nameless[u] = true
}
