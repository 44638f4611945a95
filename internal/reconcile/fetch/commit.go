package fetch

import (
	"context"
	"errors"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/inside"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/protocol"
	"github.com/fairlead-io/fairlead/internal/kube/chart"
)

func (f *Fetcher) buildCommit(ctx context.Context, s inside.Source) inside.Built {
	remote, err := f.mirrors.Fetch(ctx, f.locate(s.URL))
	if err != nil {
		return inside.Built{Reason: reasonOf(err)}
	}
	if _, err := remote.Mirror().Commit(s.Revision); err != nil {
		return inside.Built{Reason: inside.NotFound}
	}
	built, err := git.InspectTree(remote.Mirror(), s.Revision, func(files tree.Tree) (inside.Built, error) {
		if s.Kind == inside.Git {
			return inside.BuildManifests(s, files), nil
		}
		c, ok := readChart(files.Sub(s.Path))
		if !ok {
			return inside.Built{Reason: inside.TooLarge}, nil
		}
		return f.renderChart(ctx, s, c), nil
	})
	if err != nil {
		return inside.Built{Reason: reasonOf(err)}
	}
	return built
}

func readChart(files tree.Tree) (c chart.Chart, ok bool) {
	c.Files = map[string][]byte{}
	size := 0
	for name, e := range files.Walk() {
		if strings.HasPrefix(name, ".") || e.Mode == tree.ModeSymlink {
			continue
		}
		size += len(e.Data)
		if size > maxArchive {
			return c, false
		}
		c.Files[name] = e.Data
	}
	return c, true
}

func reasonOf(err error) inside.Reason {
	switch {
	case errors.Is(err, protocol.ErrForbidden):
		return inside.NotAllowed
	case errors.Is(err, git.ErrAccess):
		return inside.Private
	case errors.Is(err, git.ErrNotFound), errors.Is(err, git.ErrNoRevision):
		return inside.NotFound
	}
	return inside.Unreachable
}
