package promoter

import (
	"maps"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/ledger"
)

// maxOutputCommits bounds how far back an output branch is searched for what clusters report.
const maxOutputCommits = 1000

// outputLine has the commits of an output branch that were found, also those of before it was rewritten.
type outputLine struct {
	head    string
	commits map[string]bool
}

// placeClusters tells the ledger which clusters people have retired, and which may take the place of
// others, and has it decide to which environments the clusters belong that report by events: by the
// commits that they report, as far as these are outputs.
func (m *Promoter) placeClusters(keys []*model.ClusterKey) {
	if m.options.Ledger == nil {
		return
	}
	retired, adopted, bound := map[string]time.Time{}, map[string]time.Time{}, map[string][]string{}
	noteLatest := func(times map[string]time.Time, name string, at time.Time) {
		if at.After(times[name]) {
			times[name] = at
		}
	}
	for _, k := range keys {
		if k.Retired.After(k.Renewed) && k.Retired.After(k.Adopted) {
			noteLatest(retired, k.Name, k.Retired)
		}
		if len(k.Environments) > 0 {
			bound[k.Name] = append(bound[k.Name], k.Environments...)
		}
		noteLatest(adopted, k.Name, k.Adopted)
		noteLatest(adopted, k.Name, k.Renewed)
	}
	m.options.Ledger.SetRetired(retired)
	m.options.Ledger.SetAdopted(adopted)
	m.options.Ledger.SetBound(bound)
	revisions := m.options.Ledger.FindRevisions()
	origins := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(m.environments)) {
		location := m.findLocation(m.environments[name])
		if len(revisions) == 0 || !m.readOutputLine(location) {
			continue
		}
		for _, text := range revisions {
			if m.isOutput(ledger.ParseRevision(text), location) {
				origins[text] = append(origins[text], name)
			}
		}
	}
	m.options.Ledger.PlaceClusters(origins)
}

func (m *Promoter) findLocation(e Environment) outputLocation {
	location := outputLocation{branch: e.Branch, folder: e.Folder}
	if e.Repo != "" {
		location.remote = m.options.Remotes.KnownRemote(m.options.Remotes.ReadLocation(e.Repo))
	}
	return location
}

// readOutputLine reads the commits of an output branch that are new, and reports whether it could. What
// cannot be read is tried again in the next round: until then no cluster is moved there.
func (m *Promoter) readOutputLine(location outputLocation) bool {
	if location.remote == nil || location.remote.Mirror() == nil {
		return false
	}
	repo := location.remote.Mirror()
	head, err := repo.Branch(location.branch)
	if err != nil {
		return false
	}
	known := m.outputLines[location]
	if known.head == head {
		return true
	}
	commits, err := repo.FirstParents(head, maxOutputCommits, func(commit string) bool { return known.commits[commit] })
	if err != nil {
		return false
	}
	if known.commits == nil {
		known.commits = map[string]bool{}
	}
	for _, commit := range commits {
		known.commits[commit] = true
	}
	m.outputLines[location] = outputLine{head, known.commits}
	return true
}

func (m *Promoter) isOutput(r ledger.Revision, location outputLocation) bool {
	if r.Branch != "" && r.Branch != location.branch || !m.outputLines[location].commits[r.Commit] {
		return false
	}
	id, err := location.remote.Mirror().FolderID(r.Commit, location.folder)
	return err == nil && id != (tree.Tree{}).ID()
}
