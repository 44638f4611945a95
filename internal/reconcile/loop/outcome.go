package loop

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/wanted"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// outcome is what a round has made of an environment. Later rounds and promotions decide from it,
// and its report is written from it.
type outcome struct {
	output   model.RepoRef // where the output goes; none if that was not known
	commits  []source.Commit
	infos    map[string]git.CommitInfo // of commits, by their ids, as far as they could be read
	problems problem.List
	result   publish.Result // with a State only if it was published
	failed   bool           // an operation has failed since, for result.Reason
	// unreachable are the URLs of the remotes whose failure result.Reason is about.
	unreachable []string
	notes       []string // what its report says besides result.Reason

	stale        *forge.Pull    // the open pull request of before, if problems stop the environment; nil if it has none
	merged       mergedPull     // the one that was merged last
	wanted       string         // the id of the tree that the output should be
	impact       string         // what the pull request changes, as text
	proposed     *impact.Report // the same; nil if nothing changes
	assignments  int
	hasStacks    bool
	hasClusters  bool
	teardowns    string // which stacks the output tears down, and what they and manifests of clusters wait for
	clusterTypes []promoter.ClusterType
	step         *publish.Step // the wave that is proposed or waits; nil for none
	isUndecided  bool          // the proofs of its waves are not evaluated yet
	advance      string        // its id; "" for none
	asksGates    bool          // all but its own gates lets the wave be proposed
	rejected     string        // see promoter.Environment
}

// mergedPull is a pull request that was merged, and what it changed; the zero value is none that this process knows.
type mergedPull struct {
	pull   *forge.Pull
	change string
}

// findMerged returns the pull request that was merged last, where an outcome follows another one: what a person merges
// is what was proposed before.
func (o *outcome) findMerged(before outcome) mergedPull {
	switch {
	case o.result.State != publish.InSync:
	case o.result.Pull != nil: // we have merged it
		return mergedPull{o.result.Pull, o.result.Change}
	case before.result.Pull != nil && before.result.State != publish.Declined && before.wanted == o.wanted:
		return mergedPull{before.result.Pull, before.result.Change}
	}
	return before.merged
}

func (o *outcome) isStopped() bool { return !o.failed && o.problems.StopsEnvironment() }

func (o *outcome) explainStop() {
	n, _ := o.problems.Count()
	stopped := o.problems.StoppedStacks()
	switch {
	case o.problems.StopsEnvironment() && n == 1:
		o.result.Reason = "1 problem stops it; its output stays as it is"
	case o.problems.StopsEnvironment():
		o.result.Reason = fmt.Sprintf("%d problems stop it; its output stays as it is", n)
	case len(stopped) == 1 && strings.HasSuffix(stopped[0].Stack, problem.AllStacks):
		o.notes = append(o.notes, fmt.Sprintf("the stacks of the team %s are stopped by a problem, and stay as they are", strings.TrimSuffix(stopped[0].Stack, problem.AllStacks)))
	case len(stopped) == 1:
		o.notes = append(o.notes, fmt.Sprintf("the stack %s is stopped by a problem, and stays as it is", stopped[0].Stack))
	case len(stopped) > 1:
		o.notes = append(o.notes, fmt.Sprintf("%s, the first one %s, are stopped by problems, and stay as they are", text.Count(len(stopped), "stack"), stopped[0].Stack))
	}
}

// explainTeardowns has an outcome say which stacks of the output branch are torn down, those whose files were deleted
// and others, and what that waits for. isDone reports whether clusters have destroyed a stack.
func (o *outcome) explainTeardowns(merged []stackfiles.Summary, isDone func(stackfiles.Summary) bool) {
	var going, gone []string
	plans := 0
	for _, s := range merged {
		destroyed := listDestroyed(s)
		switch {
		case len(destroyed) == 0:
		case isDone(s):
			gone = append(gone, s.Stack)
		default:
			going = append(going, s.Stack)
			for _, c := range destroyed {
				if c.Plan != "" && c.Approval == "" && !c.Withheld {
					plans++
				}
			}
		}
	}
	var all []string
	if len(going) > 0 {
		waits := ", until clusters report that"
		if plans > 0 {
			waits = ": " + text.Count(plans, "plan") + " without approval"
		}
		all = append(all, nameStacks(going, "is being destroyed", "are being destroyed")+waits)
	}
	if len(gone) > 0 {
		all = append(all, nameStacks(gone, "is destroyed", "are destroyed"))
	}
	o.teardowns = strings.Join(all, "; ")
	if o.teardowns != "" {
		o.notes = append(o.notes, o.teardowns)
	}
}

func listDestroyed(s stackfiles.Summary) []stackfiles.ComponentSummary {
	if !s.Teardown {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Components), func(c stackfiles.ComponentSummary) bool { return c.Action != stackfiles.Destroy })
}

func nameStacks(all []string, does, do string) string {
	if len(all) == 1 {
		return "the stack " + all[0] + " " + does
	}
	return fmt.Sprintf("%s, the first one %s, %s", text.Count(len(all), "stack"), all[0], do)
}

// explainCarriers has an outcome say which manifests wait for reports of the management cluster; that is "" if none
// is named.
func (o *outcome) explainCarriers(carriers []clusterfiles.Carrier, management string) {
	if len(carriers) == 0 {
		return
	}
	which := "the manifest " + carriers[0].Manifest + " waits"
	if n := len(carriers); n > 1 {
		which = fmt.Sprintf("%s, the first one %s, wait", text.Count(n, "manifest"), carriers[0].Manifest)
	}
	which += " for reports of the management cluster"
	if management == "" {
		which += ", and spec.managementCluster names none"
	} else {
		which += " " + management
	}
	o.notes = append(o.notes, which)
	o.teardowns = strings.TrimPrefix(o.teardowns+"; "+which, "; ")
}

func (l *Loop) promotionFacts() map[string]promoter.Environment {
	all := make(map[string]promoter.Environment, len(l.environments))
	for name, e := range l.environments {
		facts := e.outcome.promotionFacts()
		facts.ManagementCluster = e.deleted.management
		all[name] = facts
	}
	return all
}

func (o *outcome) promotionFacts() promoter.Environment {
	f := promoter.Environment{
		Repo: o.output.Repo, Branch: o.output.Branch, Folder: o.output.Path, Head: o.result.Head,
		InSync: o.result.State == publish.InSync && o.rejected == "", Rejected: o.rejected, JustMerged: o.result.Commit != "", Withheld: o.result.Withheld,
		ClusterTypes: o.clusterTypes,
	}
	if i := slices.IndexFunc(o.commits, func(c source.Commit) bool { return c.Layer == "base" }); i >= 0 {
		f.BaseCommit, f.Lanes = o.commits[i].Commit, o.commits[i].Lanes
	}
	for _, c := range o.commits {
		if c.Releases != nil {
			f.Releases = c.Releases
		}
		if f.Workloads == nil {
			f.Workloads = map[string]string{}
		}
		f.Workloads[c.Layer] = c.Commit
	}
	if o.step != nil && o.step.Number > 0 {
		f.Waves, f.NextWave, f.WaveWaits, f.AsksGates = o.step.Waves, o.step.Number-1, o.result.Reason, o.asksGates
		f.Advance = o.advance
	}
	if o.isStopped() {
		f.RenderFailure, f.Problems = o.result.Reason, o.problems
	}
	if p := o.result.Pull; p != nil && (o.result.State == publish.Proposed || o.result.State == publish.DryRun) {
		f.Pull = &gate.Pull{Number: p.Number, URL: p.URL}
	} else if p != nil && o.result.State == publish.Declined {
		f.Declined = p.Number
	}
	return f
}

func (l *Loop) listBranches() []wanted.Branch {
	var all []wanted.Branch
	for _, name := range slices.Sorted(maps.Keys(l.environments)) {
		o := l.environments[name].outcome
		if o.output.Repo == "" {
			continue
		}
		remote := l.remotes.KnownRemote(l.remotes.ReadLocation(o.output.Repo))
		if remote != nil {
			all = append(all, wanted.Branch{
				Environment: name, Repo: giturl.Redact(o.output.Repo), Branch: o.output.Branch, Folder: publish.CleanFolder(o.output.Path),
				Order: l.orders.Rank(name), Expected: l.promoter.CountExpected(name, o.clusterTypes), Remote: remote.Remote, FindRemote: l.findReadRemote,
			})
		}
	}
	return all
}

func (l *Loop) findReadRemote(url string) *git.Remote {
	known := l.remotes.KnownRemote(l.remotes.ReadLocation(url))
	if known == nil {
		return nil
	}
	return known.Remote
}

func listClusterTypes(m *model.Model) []promoter.ClusterType {
	return list.Convert(m.ClusterTypes, func(c *model.ClusterType) promoter.ClusterType {
		return promoter.ClusterType{Name: c.Name, Labels: c.Labels, WaveLabels: m.GroupLabels(c), Clusters: c.Clusters, Of: c.Type}
	})
}

func (l *Loop) readCommitInfos(commits []source.Commit) map[string]git.CommitInfo {
	all := map[string]git.CommitInfo{}
	for _, c := range commits {
		remote := l.findReadRemote(c.Repo)
		if remote == nil || remote.Mirror() == nil || c.Commit == "" {
			continue
		}
		info, err := remote.Mirror().Commit(c.Commit)
		if err == nil {
			all[c.Commit] = info
		}
	}
	return all
}
