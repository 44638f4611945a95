package promoter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/cost"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// FindPlans returns the plans of a Terraform object that clusters sent, oldest first.
type FindPlans func(namespace, object string) []stackview.ReportedPlan

// selectEnvironment returns only the plans that clusters of an environment sent: no other cluster can send one of its components.
func (find FindPlans) selectEnvironment(l Ledger, environment string) FindPlans {
	if find == nil || l == nil {
		return func(string, string) []stackview.ReportedPlan { return nil }
	}
	clusters := map[string]bool{}
	for _, c := range l.Clusters() {
		clusters[c.Name()] = clusters[c.Name()] || c.Group.Environment == environment
	}
	return func(namespace, object string) []stackview.ReportedPlan {
		return slices.DeleteFunc(find(namespace, object), func(p stackview.ReportedPlan) bool { return !clusters[p.Cluster] })
	}
}

// NewCostText returns what describes the costs of plans that a change of an environment's output approves.
func NewCostText(find FindPlans, l Ledger, environment string) func(before, after tree.Tree) string {
	return func(before, after tree.Tree) string {
		was, err := stackfiles.Summarize(before)
		now, failed := stackfiles.Summarize(after)
		if err != nil || failed != nil { // what is edited by hand is reported elsewhere
			return ""
		}
		plans := find.selectEnvironment(l, environment)
		return stackview.FormatCosts(was, now, func(namespace string, c stackfiles.ComponentSummary) []cost.Change {
			for _, p := range slices.Backward(plans(namespace, c.Object)) {
				if isPlanOf(p, c) {
					return p.Costs
				}
			}
			return nil
		})
	}
}

// SumCosts returns what the plans of rendered stacks cost that clusters of environments sent: from the first of each component
// to its last.
func SumCosts(m *Promoter, rendered tree.Tree, environments ...string) []cost.Change {
	stacks, err := stackfiles.Summarize(rendered)
	if err != nil {
		return nil
	}
	var sum []cost.Change
	for _, environment := range environments {
		find := m.options.FindPlans.selectEnvironment(m.options.Ledger, environment)
		for _, k := range stacks {
			for _, c := range k.Components {
				plans := slices.DeleteFunc(find(k.Namespace, c.Object), func(p stackview.ReportedPlan) bool { return p.Costs == nil })
				if len(plans) > 0 {
					sum = cost.Add(sum, cost.Span(plans[0].Costs, plans[len(plans)-1].Costs))
				}
			}
		}
	}
	return sum
}

// readPlans reads the plans of the stacks of an environment: at the output of the commit that it has,
// or, for a commit that it may get, at the head of the output branch. They stay unknown while the output
// of the commit is not merged.
func (s *stageState) readPlans(f *gate.Facts) error {
	output := f.OutputCommit
	if f.Commit != s.stage.Commit {
		output = s.output.head
		f.Plans = &gate.Plans{}
	}
	if output == "" {
		return nil
	}
	f.Plans = nil
	stacks, err := readStacks(s.output.remote.Mirror(), output, s.output.folder)
	if err != nil {
		return fmt.Errorf("read the stacks in the output of %s: %w", s.spec.Name, err)
	}
	f.Plans = &gate.Plans{Output: output, Stacks: stacks}
	return nil
}

// readCosts sets what the plans of a commit cost: in a proof, what its own stacks cost more than at the commit that
// was verified there before; for a commit that it may get, what those of the environments before it cost more than at
// the commit that it has.
func readCosts(ctx context.Context, m *Promoter, s *stageState, f *gate.Facts) error {
	if f.Commit == s.stage.Commit {
		if f.OutputCommit == "" {
			return nil
		}
		isVerified := func(version, newer string) (bool, error) { return wasVerified(ctx, m, s, f.Commit, version, newer) }
		costs, err := findCosts(ctx, m, s, s.spec.Name, s.output, f.Commit, "", isVerified, nil)
		f.Costs = costs
		return err
	}
	all := []gate.PlannedCost{}
	for _, name := range s.spec.After {
		location := m.findLocation(m.environments[name])
		if location.remote == nil || location.remote.Mirror() == nil {
			return fmt.Errorf("the output of %s is not known", name)
		}
		head, err := location.remote.Mirror().Branch(location.branch)
		if err != nil {
			return err
		}
		location.head = head
		isPassed := func(commit, _ string) (bool, error) {
			has := cmp.Or(s.lanes[f.Lane], s.stage.Commit)
			if has == "" {
				return false, nil
			}
			return s.base.Repo.Contains(has, commit)
		}
		isHeld := func(version string) (bool, error) { return s.base.Repo.Contains(f.Commit, version) }
		if slices.ContainsFunc(s.stages, func(p *stageState) bool {
			return p.spec.Name == name && p.stage.Commit == f.Commit && p.facts.OutputCommit == head
		}) {
			isHeld = nil
		}
		costs, err := findCosts(ctx, m, s, name, location, f.Commit, f.Lane, isPassed, isHeld)
		if err != nil {
			return err
		}
		if costs == nil {
			return fmt.Errorf("the output of %s does not have the commit", name)
		}
		all = append(all, *costs...)
	}
	f.Costs = &all
	return nil
}

// wasVerified reports whether a commit was verified in an environment, or one that it had after that and whose output is the
// same: it has no part of the newer one. The commit that is asked about does not count.
func wasVerified(ctx context.Context, m *Promoter, s *stageState, except, commit, newer string) (bool, error) {
	isVerified := func(commit string) (bool, error) {
		said, err := m.readStatuses(ctx, m.options.Remotes.ControlPlane(), commit)
		return commit != except && isProofRecorded(said, s.spec.Name), err
	}
	is, err := isVerified(commit)
	if is || err != nil {
		return is, err
	}
	had, err := s.branch.ListBases(maxRecords, maxVersions)
	if err != nil {
		return false, err
	}
	for _, base := range had {
		if _, err := s.base.Repo.Commit(base.Platform); err != nil { // it is gone, or misspelt
			continue
		}
		isSame, err := s.base.Repo.Contains(base.Platform, commit)
		if isSame && err == nil && newer != "" {
			isSame, err = s.base.Repo.Contains(base.Platform, newer)
			isSame = !isSame
		}
		if isSame && err == nil {
			isSame, err = isVerified(base.Platform)
		}
		if isSame || err != nil {
			return isSame, err
		}
	}
	return false, nil
}

// readLaneCosts sets what the plans of a lane cost more than at the version that was verified before.
func readLaneCosts(ctx context.Context, s *stageState, version, name string, f *gate.Facts) error {
	m := s.decider.promoter
	isVerified := func(commit, _ string) (bool, error) {
		said, err := m.readStatuses(ctx, m.options.Remotes.ControlPlane(), commit)
		isRecorded := isProofRecorded(said, s.spec.Name) || !deployedSince(said, laneContext(s.spec.Name, name), time.Time{}).IsZero()
		return commit != version && isRecorded, err
	}
	costs, err := findCosts(ctx, m, s, s.spec.Name, s.output, version, name, isVerified, nil)
	f.Costs = costs
	return err
}

// plansOf identifies the plans of a commit in an output.
type plansOf struct{ environment, head, commit, lane string }

// plansBefore has the stacks of a commit, and those of the output that its costs are compared with.
type plansBefore struct {
	known       bool // whether the output has the commit
	now, before []stackfiles.Summary
	approved    map[string]bool // plans that an output of the commit approves, by [identifyPlan]
}

func identifyPlan(stack string, c stackfiles.ComponentSummary) string {
	return strings.Join([]string{stack, c.Name, c.Plan, c.Inputs}, " ")
}

// maxCostOutputs bounds the outputs that are read for one comparison, and maxPlansBefore the comparisons that are kept.
const maxCostOutputs, maxPlansBefore = 100, 8

// findCosts returns what components cost whose plans differ from those of the newest output before the commit for
// whose base isBefore holds; nil if the output does not have the commit. For a lane, its stacks count, and its versions.
// A commit that changes nothing has no output of its own: it has the newest one for whose base isHeld holds, or the head if
// that is nil.
func findCosts(ctx context.Context, m *Promoter, s *stageState, environment string, at outputLocation, commit, of string, isBefore func(commit, newer string) (bool, error), isHeld func(commit string) (bool, error)) (*[]gate.PlannedCost, error) {
	versionOf := func(c lane.Composition) string { return c.Platform }
	if of != "" {
		commit = s.decider.history.Version(of, commit)
		versionOf = func(c lane.Composition) string { return s.decider.history.Version(of, cmp.Or(c.Lanes[of], c.Platform)) }
	}
	key := plansOf{environment, at.head, commit, of}
	found, ok := s.memory.plansBefore[key]
	if !ok {
		var err error
		found, err = findPlansBefore(m, at, environment, commit, versionOf, isBefore, isHeld)
		if err != nil {
			return nil, fmt.Errorf("read the stacks in the outputs of %s: %w", environment, err)
		}
		if len(s.memory.plansBefore) >= maxPlansBefore || s.memory.plansBefore == nil {
			s.memory.plansBefore = map[plansOf]plansBefore{}
		}
		s.memory.plansBefore[key] = found
	}
	if !found.known {
		return nil, nil
	}
	find := m.options.FindPlans.selectEnvironment(m.options.Ledger, environment)
	all := []gate.PlannedCost{}
	for _, k := range found.now {
		if of != "" && s.decider.findOwner(ctx, environment, k.Stack) != of {
			continue
		}
		i := slices.IndexFunc(found.before, func(other stackfiles.Summary) bool { return other.Stack == k.Stack })
		for _, c := range k.Components {
			var was stackfiles.ComponentSummary
			if i >= 0 {
				was, _ = found.before[i].FindComponent(c.Name)
			}
			if c.Inputs == "" || c.Action == stackfiles.Suspend || was.Plan == c.Plan && was.Inputs == c.Inputs {
				continue
			}
			planned := findCost(find(k.Namespace, c.Object), was, c)
			if planned.Missing == neverSent {
				var err error
				planned.Missing, err = explainUnsent(m, at, environment, k, c, found.approved[identifyPlan(k.Stack, c)])
				if err != nil {
					return nil, err
				}
			}
			planned.Stack = k.Stack
			planned.Component = environment + " " + k.Stack + "/" + c.Name
			all = append(all, planned)
		}
	}
	return &all, nil
}

func isPlanOf(p stackview.ReportedPlan, c stackfiles.ComponentSummary) bool {
	return p.Plan == c.Plan && p.Inputs == c.Inputs
}

func findCost(plans []stackview.ReportedPlan, was, c stackfiles.ComponentSummary) gate.PlannedCost {
	for i, p := range slices.Backward(plans) {
		if isPlanOf(p, was) {
			plans = plans[i+1:]
			break
		}
	}
	for _, p := range slices.Backward(plans) {
		switch {
		case !isPlanOf(p, c):
			continue
		case p.Costs == nil && p.Add+p.Change+p.Destroy == 0:
			return gate.PlannedCost{}
		case p.Costs == nil:
			return gate.PlannedCost{Missing: "was sent without a cost"}
		}
		first := slices.IndexFunc(plans, func(o stackview.ReportedPlan) bool { return o.Costs != nil })
		return gate.PlannedCost{Costs: cost.Span(plans[first].Costs, p.Costs)}
	}
	return gate.PlannedCost{Missing: neverSent}
}

const neverSent = "has not been sent"

// explainUnsent returns why the cost of a plan that no cluster sent is unknown; "" if the plan changes nothing: clusters
// have run the component without an approval.
func explainUnsent(m *Promoter, at outputLocation, environment string, k stackfiles.Summary, c stackfiles.ComponentSummary, isApproved bool) (string, error) {
	if m.options.Inbox == nil || c.Approval == "auto" {
		return neverSent, nil
	}
	object := "Kustomization/" + k.Namespace + "/" + c.Object
	makesIt := map[string]bool{}
	var failed error
	reports := m.options.Inbox.Reports(func(e observe.Event) (current, ok bool) {
		name, _, _ := strings.Cut(e.Object, "@")
		if name != object || e.Commit == "" || e.Environment != "" && e.Environment != environment {
			return false, false
		}
		makes, known := makesIt[e.Commit]
		if !known && failed == nil {
			makes, failed = hasPlan(at, e.Commit, k.Stack, c)
			makesIt[e.Commit] = makes
		}
		return makes, true
	})
	isRun := len(reports) > 0 && !slices.ContainsFunc(reports, func(r rollout.Report) bool { return !r.Current || r.Phase != rollout.Ready })
	switch {
	case failed != nil || !isRun:
		return neverSent, failed
	case isApproved:
		return "is applied, and has not been sent", nil
	}
	return "", nil
}

func hasPlan(at outputLocation, commit, stack string, c stackfiles.ComponentSummary) (bool, error) {
	if _, err := at.remote.Mirror().Commit(commit); err != nil { // of another repository, or gone
		return false, nil
	}
	all, err := readStacks(at.remote.Mirror(), commit, at.folder)
	return slices.ContainsFunc(all, func(s stackfiles.Summary) bool {
		other, _ := s.FindComponent(c.Name)
		return identifyPlan(s.Stack, other) == identifyPlan(stack, c)
	}), err
}

func findPlansBefore(m *Promoter, at outputLocation, environment, commit string, versionOf func(lane.Composition) string, isBefore func(commit, newer string) (bool, error), isHeld func(string) (bool, error)) (found plansBefore, err error) {
	repo := at.remote.Mirror()
	outputs, err := repo.FirstParents(at.head, maxCostOutputs, func(string) bool { return false })
	if err != nil {
		return found, err
	}
	all, first, err := readVersions(m, at, environment, commit, outputs, versionOf, isHeld)
	if first < 0 || err != nil {
		return found, err
	}
	last := ""
	for i, output := range outputs[first:] {
		from, err := all.read(output)
		if err != nil {
			return found, err
		}
		if i == 0 || from.version == commit {
			stacks, err := readStacks(repo, output, at.folder)
			if err != nil {
				return found, err
			}
			found.add(stacks)
		}
		if from.version != "" && from.version != commit && from.version != last {
			isIt, err := isBefore(from.version, last)
			if err == nil && !isIt && from.version != from.platform {
				isIt, err = isBefore(from.platform, last)
			}
			if err != nil {
				return found, err
			}
			if isIt {
				found.before, err = readStacks(repo, output, at.folder)
				return found, err
			}
		}
		last = cmp.Or(from.version, last)
	}
	return found, nil
}

// outputVersion is what an output was made from; "" for what is unknown.
type outputVersion struct{ version, platform string }

type outputVersions struct {
	known map[string]outputVersion
	find  func(output string) (outputVersion, error)
}

func (v outputVersions) read(output string) (outputVersion, error) {
	found, isKnown := v.known[output]
	if isKnown {
		return found, nil
	}
	found, err := v.find(output)
	v.known[output] = found
	return found, err
}

// readVersions returns the versions of outputs, and the index of the newest that has a commit; -1 for none.
func readVersions(m *Promoter, at outputLocation, environment, commit string, outputs []string, versionOf func(lane.Composition) string, isHeld func(string) (bool, error)) (all outputVersions, first int, err error) {
	all = outputVersions{map[string]outputVersion{}, func(output string) (outputVersion, error) {
		from, err := findOutputOrigin(m.options.Records, at.remote.Mirror(), output, at.folder, environment)
		if err != nil || from.Platform == "" {
			return outputVersion{}, err
		}
		return outputVersion{versionOf(from.Composition), from.Platform}, nil
	}}
	if isHeld == nil && len(outputs) > 0 {
		return all, 0, nil
	}
	first = -1
	for i, output := range outputs {
		from, err := all.read(output)
		if err != nil {
			return all, -1, err
		}
		if from.version == commit {
			return all, i, nil
		}
		if first < 0 && from.version != "" {
			is, err := isHeld(from.platform)
			if err != nil {
				return all, -1, err
			}
			if is {
				first = i
			}
		}
	}
	return all, first, nil
}

func (p *plansBefore) add(stacks []stackfiles.Summary) {
	if !p.known {
		p.known, p.now, p.approved = true, stacks, map[string]bool{}
	}
	for _, s := range stacks {
		for _, c := range s.Components {
			if c.Approval != "" {
				p.approved[identifyPlan(s.Stack, c)] = true
			}
		}
	}
}

func readStacks(repo *git.Repository, commit, folder string) ([]stackfiles.Summary, error) {
	seen, err := repo.View(commit)
	if err != nil {
		return nil, err
	}
	all, err := stackfiles.Summarize(seen.Tree.Sub(folder))
	return all, errors.Join(seen.Err(), err)
}

func listStackFolders(s *model.Stack) []string {
	d := stackfiles.Deleted{Team: s.TeamName.Text, Env: s.EnvName.Text}
	return []string{d.Folder(), d.ModulesFolder()}
}

func stackFolder(stack string) string { return stackfiles.ObjectsFolder + "/" + stack }
