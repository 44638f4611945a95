package promoter

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
)

// Ledger knows how clusters stand to an output.
type Ledger interface {
	// FindStandings returns how each expected cluster stands to what is wanted: see
	// [ledger.Ledger.FindStandings].
	FindStandings(w ledger.Wanted, outputs *ledger.Outputs) []ledger.Standing
	// Clusters returns all clusters that were ever in touch.
	Clusters() []ledger.Cluster
	// FindTargets returns the revisions that what applies the output to the clusters of an environment is at, or works on,
	// and the folders that it applies, each once.
	FindTargets(environment string) (revisions, folders []string)
	// FindRevisions returns the revisions that clusters report by events.
	FindRevisions() []string
	// PlaceClusters decides to which environments those clusters belong, by the environments that
	// revisions are outputs of: see [ledger.Ledger.PlaceClusters].
	PlaceClusters(origins map[string][]string)
	// SetRetired has clusters no longer expected that people have retired, by name, at a time, and not renewed or adopted
	// since.
	SetRetired(times map[string]time.Time)
	// SetBound has clusters belong to no other environments than those that their keys are bound to, by name.
	SetBound(environments map[string][]string)
	// SetListed has clusters of an environment known that are expected by name, with their types. If closed names a list, no
	// other clusters count.
	SetListed(environment string, types map[string]string, closed string)
	// FindExcluded returns the names of the clusters that report an output of an environment, and do not count in it.
	FindExcluded(environment string) []string
	// SetAdopted has clusters take the place of others that were built in their place: see
	// [ledger.Ledger.SetAdopted].
	SetAdopted(times map[string]time.Time)
	// Since returns when the ledger began to listen.
	Since() time.Time
}

func (m *Promoter) findFleet(s *stageState, need gate.Need, f gate.Facts) rollout.Fleet {
	switch {
	case m.options.Ledger == nil:
		return rollout.Fleet{Unknown: "there is no ledger: write where its secret is, as ledger.secret, into the settings of the daemon"}
	case s.output.remote == nil || s.output.head == "":
		return rollout.Fleet{Unknown: "it is not known where the output is"}
	}
	types := m.environments[s.spec.Name].ClusterTypes
	outputs := m.findOutputs(s.spec.Name, s.output, types)
	wanted, found := outputs.Find(s.output.head)
	if !found {
		return rollout.Fleet{Unknown: "the output cannot be read"}
	}
	wanted.Merged = f.MergedAt
	listed := s.memory.listed
	w := newWanted(s.spec.Name, wanted, types, listed, s.memory.isClosed())
	w.AllObjects = need.AllObjects
	labels := map[string]map[string]string{}
	for _, t := range types {
		labels[t.Name] = t.Labels
	}
	byName := map[string]*model.ListedCluster{}
	for _, c := range listed {
		byName[c.Name] = c
	}
	fleet := rollout.Fleet{Since: m.options.Ledger.Since()}
	if len(w.Expected) < len(types) || len(types) == 0 {
		fleet.Began = m.findFirstContact()
	}
	for _, one := range m.options.Ledger.FindStandings(w, outputs) {
		standing := rollout.Standing{Cluster: one.Listed, ClusterType: one.Type, Labels: labels[one.Type], Class: one.Class, Object: one.Object.Name, Message: one.Message}
		if one.Cluster != nil {
			standing.Cluster, standing.LastSeen, standing.SilentAt = one.Cluster.Name(), one.Cluster.LastSeen, one.Cluster.SilentAt()
		}
		if c := byName[standing.Cluster]; c != nil {
			standing.Group, standing.Labels = c.Group, mergeLabels(standing.Labels, c.Labels)
		}
		fleet.Standings = append(fleet.Standings, standing)
	}
	return fleet
}

func mergeLabels(labels, over map[string]string) map[string]string {
	merged := maps.Clone(labels)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, over)
	return merged
}

// findFirstContact returns when a cluster was first in touch with the ledger; now if none ever was.
func (m *Promoter) findFirstContact() time.Time {
	all := m.options.Ledger.Clusters()
	if len(all) == 0 {
		return m.now
	}
	return all[0].FirstSeen
}

// newWanted returns what the clusters of an environment should have, and which clusters are expected:
// of a type as many as its annotation says or as are listed, whichever are more; of a closed list those that it names.
func newWanted(environment string, output ledger.Output, types []ClusterType, listed []*model.ListedCluster, closed bool) ledger.Wanted {
	w := ledger.Wanted{Environment: environment, Output: output, Expected: map[string]int{}, Listed: map[string]string{}}
	for _, t := range types {
		if closed {
			w.Expected[t.Name] = 0
		} else if t.Clusters >= 0 {
			w.Expected[t.Name] = t.Clusters
		}
	}
	count := map[string]int{}
	for _, c := range listed {
		w.Listed[c.Name] = c.Type
		count[c.Type]++
		w.Expected[c.Type] = max(w.Expected[c.Type], count[c.Type])
	}
	return w
}

// CountExpected returns how many clusters of each type of an environment there should be, where something
// says so, as gates expect them; nil if there are no types.
func (m *Promoter) CountExpected(environment string, types []ClusterType) map[string]int {
	if len(types) == 0 {
		return nil
	}
	known := m.memoryOf(environment)
	return newWanted(environment, ledger.Output{}, types, known.listed, known.isClosed()).Expected
}

// noteListed remembers which clusters of an environment are expected by name: those that its branch lists,
// and those that its output provisions and that are up. It has the ledger know them.
func (m *Promoter) noteListed(s *stageState) {
	listed, _ := s.branch.Progress.ListClusters() // problems are reported where the branch is read
	s.memory.listed = placeInFolders(listed, s.environment.ClusterTypes)
	for _, a := range m.findAttached(s) {
		if !slices.ContainsFunc(s.memory.listed, func(c *model.ListedCluster) bool { return c.Name == a.Cluster }) {
			s.memory.listed = append(s.memory.listed, &model.ListedCluster{Name: a.Cluster, Type: a.ClusterType})
		}
	}
	types := newWanted(s.spec.Name, ledger.Output{}, nil, s.memory.listed, false).Listed
	s.memory.closed = ledger.ClosedList{}
	if s.branch.Progress != nil && len(s.branch.Progress.ClosedLists) > 0 {
		s.memory.closed = ledger.ClosedList{Subject: s.branch.Progress.ClosedLists[0], Types: types}
	}
	if m.options.Ledger != nil {
		m.options.Ledger.SetListed(s.spec.Name, types, s.memory.closed.Subject)
	}
}

func placeInFolders(listed []*model.ListedCluster, all []ClusterType) []*model.ListedCluster {
	types := map[string]string{}
	for _, t := range all {
		if t.Of != "" {
			types[t.Name] = t.Of
		}
	}
	return list.Convert(listed, func(c *model.ListedCluster) *model.ListedCluster {
		if types[c.Name] != c.Type {
			return c
		}
		own := *c
		own.Type = c.Name
		return &own
	})
}

func (k *memory) isClosed() bool { return k.closed.Subject != "" }

func (s *stageState) excludes(e observe.Event) bool {
	return e.Membership.Excludes(e.Cluster, s.spec.Name) || s.memory.closed.Excludes(e.Cluster)
}

type attachedClusters struct {
	at  outputLocation
	all []clusterfiles.Attached
}

func (p outputLocation) readAttached(known *attachedClusters) (attachedClusters, error) {
	mirror := p.remote.Mirror()
	head, err := mirror.FindBranch(p.branch)
	p.head = head
	if err != nil || head == "" || known.at == p {
		return *known, err
	}
	all, err := git.InspectTree(mirror, head, func(output tree.Tree) ([]clusterfiles.Attached, error) {
		if output.Sub(path.Join(p.folder, clusterfiles.Folder)).IsEmpty() {
			return nil, nil
		}
		return clusterfiles.ListAttached(output.Sub(p.folder)), nil
	})
	return attachedClusters{p, all}, err
}

// findAttached returns the clusters that the output provisions, and to which the management cluster has
// applied the folder of their type: it says so, or a report in the name of the cluster itself. What others
// report of an object of that name does not count.
func (m *Promoter) findAttached(s *stageState) []clusterfiles.Attached {
	at := m.findLocation(s.environment)
	if m.options.Inbox == nil || s.environment.Repo == "" || at.remote == nil || at.remote.Mirror() == nil {
		return nil
	}
	known := &s.memory.attached
	all, err := at.readAttached(known)
	if err != nil { // publishing reports it
		m.options.Logger.Debug("the provisioned clusters of an output cannot be read", "environment", s.spec.Name, "error", err)
		return nil
	}
	*known = all
	if len(known.all) == 0 {
		return nil
	}
	clusters, applied := map[string]string{}, map[string]bool{} // by objects
	for _, a := range known.all {
		clusters[a.Object] = a.Cluster
	}
	management := s.environment.ManagementCluster
	m.options.Inbox.Reports(func(e observe.Event) (current, ok bool) {
		object, _, _ := strings.Cut(e.Object, "@")
		counts := e.Cluster == clusters[object] || e.Cluster == management && management != ""
		if counts && (e.Environment == s.spec.Name || e.Environment == "") && (e.Phase == rollout.Ready || e.Runs != "") {
			applied[object] = true
		}
		return false, false
	})
	var up []clusterfiles.Attached
	for _, a := range known.all {
		if applied[a.Object] {
			up = append(up, a)
		}
	}
	return up
}

// findOutputs returns the head of the output, and the commits that clusters of the environment report,
// as far as they are of its repository.
func (m *Promoter) findOutputs(environment string, at outputLocation, types []ClusterType) *ledger.Outputs {
	revisions, names := m.options.Ledger.FindTargets(environment)
	commits := list.Convert(revisions, func(text string) string { return ledger.ParseRevision(text).Commit })
	for _, t := range types {
		names = append(names, t.Name)
	}
	slices.Sort(commits)
	slices.Sort(names)
	names = slices.Compact(names)
	outputs := &ledger.Outputs{}
	for _, commit := range append(slices.Compact(commits), at.head) {
		if o, ours := at.readOutput(commit, names); ours {
			outputs.Add(o)
		}
	}
	return outputs
}

// readOutput returns a commit as an output, with the folders of cluster types; false if it is not of the
// repository. For a type without a folder at the head, and for no type, the whole folder of the
// environment counts, so that a cluster is not ready because it has a type that does not exist.
func (p outputLocation) readOutput(commit string, types []string) (ledger.Output, bool) {
	mirror := p.remote.Mirror()
	if _, err := mirror.Commit(commit); commit == "" || err != nil {
		return ledger.Output{}, false
	}
	whole, err := mirror.FolderID(commit, p.folder)
	if err != nil {
		return ledger.Output{}, false
	}
	o := ledger.Output{Revision: commit, Folders: map[string]string{}}
	for _, name := range types {
		id := whole
		if p.hasFolder(name) {
			id, err = mirror.FolderID(commit, path.Join(p.folder, name))
			if err != nil {
				return ledger.Output{}, false
			}
		}
		o.Folders[name] = id.String()
	}
	return o, true
}

func (p outputLocation) hasFolder(clusterType string) bool {
	if clusterType == "" || strings.Contains(clusterType, "/") {
		return false
	}
	id, err := p.remote.Mirror().FolderID(p.head, path.Join(p.folder, clusterType))
	return err == nil && id != (tree.Tree{}).ID()
}
