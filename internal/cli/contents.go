package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/inside"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/fetch"
)

// findContents returns what the sources hold that move between two outputs.
func (in *input) findContents(ctx context.Context, old, new tree.Tree) (map[inside.Place]inside.Contents, error) {
	if in.options.Map == nil { // two folders need no control plane
		var err error
		in.options.Map, err = parsePairs("--map", "URL=PATH-or-URL", in.maps)
		if err != nil {
			return nil, err
		}
	}
	defer in.showProgress("look into what moves")()
	f := in.openContents(ctx)
	defer f.Wait()
	found, _ := f.FindContents(ctx, old, new)
	return found, ctx.Err()
}

// openContents opens the cache once for all environments of a command.
func (in *input) openContents(ctx context.Context) *fetch.Fetcher {
	if in.contents == nil {
		in.contents = fetch.New(ctx, in.fetchOptions())
	}
	return in.contents
}

func (in *input) findHeld(ctx context.Context, assignment tree.Tree) ([]inside.Held, error) {
	defer in.showProgress("look into the sources")()
	f := in.openContents(ctx)
	defer f.Wait()
	return f.FindHeld(ctx, assignment), ctx.Err()
}

// newContents looks as the daemon does, but waits for the answer.
func newContents(ctx context.Context, cc *commandContext) *fetch.Fetcher {
	o := fetch.OptionsOf(cc.settings, cc.now)
	o.Dir, o.Patience = cacheFolder("inside"), fetch.LongPatience
	return fetch.New(ctx, o)
}

// fetchOptions reach as far as the settings here permit. Without settings these are public hosts,
// the server of the control plane, and what --map names.
func (in *input) fetchOptions() fetch.Options {
	o := fetch.Options{Now: time.Now}
	if in.settings != nil {
		o = fetch.OptionsOf(in.settings, time.Now)
	}
	o.Dir, o.Patience = cacheFolder("inside"), fetch.LongPatience
	o.Relocate = func(url string) string { return giturl.Relocate(url, in.options.Map) }
	named, permits := slices.Collect(maps.Values(in.options.Map)), o.Guard
	o.Guard = func(location string) (bool, error) {
		for _, place := range append(named, in.options.ControlPlane) {
			if place == location || giturl.IsRemote(place) && giturl.SameServer(place, location) {
				return false, nil
			}
		}
		if permits != nil {
			return permits(location)
		}
		if !giturl.IsRemote(location) {
			return true, fmt.Errorf("--map does not name %s: %w", location, git.ErrNotFound)
		}
		return true, nil
	}
	return o
}
