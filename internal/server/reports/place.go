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

// Place is where the output of an environment is.
type Place struct {
	Environment string
	Repo        string // a URL
	Branch      string
	Folder      string // "" for the whole branch
}

// candidate is an object that may be the one that pulls an environment's output.
type candidate struct {
	object      string
	environment string
	clusterType string
	depth       int  // of the folder below that of the environment
	folder      int  // how long the name of the environment's folder is
	trusted     bool // it is in a namespace that tenants cannot write to
	shared      bool // the folder is that of stacks or of clusters, and of no cluster type
}

// FindPlatform returns to which part of the fleet a cluster belongs, which of its objects pulls the output of its
// environment, and which others do too: those that come from the environment's repository and branch. The first one is
// that whose folder is the closest to the folder of a cluster type.
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

// isBeside reports whether an object applies another folder of the same output. Tenants cannot add one: whoever adds one
// decides when the cluster is ready. Below the folders of cluster types are those of workloads and of components.
func (c candidate) isBeside(best candidate) bool {
	return c.trusted && c.environment == best.environment && c.depth <= max(best.depth, 1)
}

// compare orders candidates, the best one first: one that is of a cluster type, one that no tenant can
// have made, one whose folder is close to that of its cluster type.
func (c candidate) compare(other candidate) int {
	return cmp.Or(list.CompareBools(c.depth > 0, other.depth > 0), list.CompareBools(c.trusted, other.trusted), list.CompareBools(!c.shared, !other.shared), cmp.Compare(c.depth, other.depth),
		-cmp.Compare(c.folder, other.folder), cmp.Compare(c.object, other.object), cmp.Compare(c.environment, other.environment))
}

// match reports whether an object comes from a place, and how.
func (p Place) match(e agentapi.Entry) (candidate, bool) {
	if e.Source.Ref != p.Branch || !isSameRepository(e.Source.URL, p.Repo) {
		return candidate{}, false
	}
	below, ok := relativeTo(cleanFolder(e.Source.Path), cleanFolder(p.Folder))
	if !ok {
		return candidate{}, false
	}
	c := candidate{object: e.ObjectName(), environment: p.Environment, folder: len(p.Folder), trusted: slices.Contains(ledger.PlatformNamespaces, e.Namespace)}
	if strings.HasPrefix(below, ".") { // no cluster type: what people have put beside them
		return candidate{}, false
	}
	if below != "" {
		c.clusterType, _, _ = strings.Cut(below, "/")
		c.depth = strings.Count(below, "/") + 1
		c.shared = c.clusterType == stackfiles.ObjectsFolder || c.clusterType == clusterfiles.Folder
	}
	return c, true
}

// isSameRepository reports whether what a cluster names is a repository of ours. What is not a URL is
// not looked for on this machine.
func isSameRepository(url, ours string) bool {
	if !giturl.IsRemote(url) || !giturl.IsRemote(ours) {
		return giturl.Normalize(url) == giturl.Normalize(ours)
	}
	return giturl.Identify(url).Same(giturl.Identify(ours))
}

func cleanFolder(folder string) string { return strings.TrimPrefix(path.Clean("/"+folder), "/") }

// relativeTo returns a folder as it is seen from another one, and false if it is not in that.
func relativeTo(folder, base string) (string, bool) {
	if base == "" || folder == base {
		return strings.TrimPrefix(strings.TrimPrefix(folder, base), "/"), true
	}
	return strings.CutPrefix(folder, base+"/")
}
