package reports

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// Place is the location of an environment's output.
type Place struct {
	Environment string
	Repo        string
	Branch      string
	Folder      string // "" for the whole branch
}

// candidate is an object that may pull an environment's output.
type candidate struct {
	object      string
	environment string
	clusterType string
	depth       int
	folder      int
	trusted     bool // in a namespace without tenants
	shared      bool // the folder is for stacks or clusters, not for a cluster type
}

// FindPlatform returns a cluster's place in the fleet, the object that pulls its environment's
// output, and other objects that do. The first one has the folder closest to a cluster type's.
func FindPlatform(entries []agentapi.Entry, places []Place) (ledger.Group, string, []ledger.Applier) {
	var best *candidate
	var all []candidate
	for _, e := range entries {
		if e.Source == nil || e.Source.Path == "" || e.Kind == "HelmRelease" {
			continue
		}
		for _, p := range places {
			c, ok := p.match(e)
			if !ok {
				continue
			}
			all = append(all, c)
			if best == nil || c.compare(*best) < 0 {
				best = &c
			}
		}
	}
	if best == nil {
		return ledger.Group{}, "", nil
	}
	var others []ledger.Applier
	for _, c := range all {
		if c.object != best.object && c.isBeside(*best) {
			others = append(others, ledger.Applier{Object: c.object, Folder: c.clusterType})
		}
	}
	slices.SortFunc(others, func(a, b ledger.Applier) int { return cmp.Compare(a.Object, b.Object) })
	return ledger.Group{Environment: best.environment, ClusterType: best.clusterType}, best.object, others
}

// isBeside reports whether an object applies another folder of the same output. Objects of tenants
// do not count: they would decide when the cluster is ready. Deeper folders are workloads' and
// components'.
func (c candidate) isBeside(best candidate) bool {
	return c.trusted && c.environment == best.environment && c.depth <= max(best.depth, 1)
}

// compare orders the best candidate first: of a cluster type, trusted, not shared, close to the
// cluster type's folder.
func (c candidate) compare(other candidate) int {
	return cmp.Or(list.CompareBools(c.depth > 0, other.depth > 0), list.CompareBools(c.trusted, other.trusted), list.CompareBools(!c.shared, !other.shared), cmp.Compare(c.depth, other.depth),
		-cmp.Compare(c.folder, other.folder), cmp.Compare(c.object, other.object), cmp.Compare(c.environment, other.environment))
}

func (p Place) match(e agentapi.Entry) (candidate, bool) {
	if e.Source.Ref != p.Branch || !isSameRepository(e.Source.URL, p.Repo) {
		return candidate{}, false
	}
	below, ok := relativeTo(cleanFolder(e.Source.Path), cleanFolder(p.Folder))
	if !ok {
		return candidate{}, false
	}
	c := candidate{object: e.ObjectName(), environment: p.Environment, folder: len(p.Folder), trusted: slices.Contains(ledger.PlatformNamespaces, e.Namespace)}
	if strings.HasPrefix(below, ".") { // not a cluster type: people's own folders
		return candidate{}, false
	}
	if below != "" {
		c.clusterType, _, _ = strings.Cut(below, "/")
		c.depth = strings.Count(below, "/") + 1
		c.shared = c.clusterType == stackfiles.ObjectsFolder || c.clusterType == clusterfiles.Folder
	}
	return c, true
}

// isSameRepository does not look up local paths that a cluster names.
func isSameRepository(url, ours string) bool {
	if !giturl.IsRemote(url) || !giturl.IsRemote(ours) {
		return giturl.Normalize(url) == giturl.Normalize(ours)
	}
	return giturl.Identify(url).Same(giturl.Identify(ours))
}

func cleanFolder(folder string) string { return strings.TrimPrefix(path.Clean("/"+folder), "/") }

func relativeTo(folder, base string) (string, bool) {
	if base == "" || folder == base {
		return strings.TrimPrefix(strings.TrimPrefix(folder, base), "/"), true
	}
	return strings.CutPrefix(folder, base+"/")
}
