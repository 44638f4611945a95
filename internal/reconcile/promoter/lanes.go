package promoter

import (
	"context"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// ExplainLanes returns what lanes could do in an environment, from what a cycle has found, at the time of
// [Promoter.StartRound]: with other lanes than those of the Promotion, unless they are nil. It is nil if there are none. It changes
// nothing.
func (m *Promoter) ExplainLanes(ctx context.Context, policy Policy, environments map[string]Environment, environment string, lanes *model.Lanes) (*lane.Report, error) {
	m.source, m.environments, m.simulates = policy.source, environments, true
	defer func() { m.simulates = false }()
	written := policy.base.Progress.Promotions
	switch {
	case policy.base.Repo == nil:
		return nil, errNoCommits
	case lanes == nil && len(written) == 1:
		lanes = written[0].Lanes
	}
	if lanes == nil {
		return nil, nil
	}
	all, line, err := m.observeAll(ctx, policy)
	if err != nil {
		return nil, err
	}
	e := laneExplainer{promoter: m, base: policy.base, partition: lane.NewPartition(*lanes), stages: all, caches: map[string]*output.Cache{}, objects: map[string]laneObjects{}}
	problems, err := e.check(lanes)
	switch {
	case err != nil:
		return nil, err
	case problems.Stops():
		return nil, &BlockedError{problems}
	}
	history, err := lane.NewHistory(line, e.changedLanes)
	if err != nil {
		return nil, err
	}
	report, err := lane.Decide(lane.Input{
		History: history, Stages: stagesOf(all), Environment: environment, Now: m.now,
		Proof:  func(environment, name string) (gate.Verdict, bool) { return e.evaluateProof(ctx, environment, name) },
		Render: func(c lane.Composition) (lane.Output, error) { return e.render(ctx, environment, c) },
	})
	return &report, err
}

// laneExplainer reads what decisions about lanes need.
type laneExplainer struct {
	promoter  *Promoter
	base      source.Base
	partition lane.Partition
	stages    []*stageState
	caches    map[string]*output.Cache // by environment
	objects   map[string]laneObjects   // by environment
}

// laneObjects are the lanes of objects by their names in reports; "" for names that several lanes have.
type laneObjects map[string]string

// check returns the problems of the lanes with the head of the base.
func (e *laneExplainer) check(lanes *model.Lanes) (problem.List, error) {
	of := &model.Object{Kind: "lanes", Name: lanes.Each, Pos: lanes.Pos}
	return git.InspectTree(e.base.Repo, e.base.Head, func(files tree.Tree) (problem.List, error) {
		return e.promoter.source.CheckLanes(*lanes, files, of), nil
	})
}

// changedLanes returns the lanes that a commit of the base changes.
func (e *laneExplainer) changedLanes(commit, before string) ([]string, error) {
	own := append([]string{source.OwnFolder}, e.base.Own...)
	return git.InspectTrees(e.base.Repo, []string{before, commit}, func(t []tree.Tree) ([]string, error) { return e.partition.ChangedLanes(t[0], t[1], own), nil })
}

// render renders an environment with a composed base.
func (e *laneExplainer) render(ctx context.Context, environment string, c lane.Composition) (lane.Output, error) {
	if e.caches[environment] == nil {
		e.caches[environment] = &output.Cache{}
	}
	at := source.Revisions{Base: c.Platform, Lanes: source.Lanes{Partition: e.partition, Commits: c.Lanes}}
	r, err := e.promoter.source.Render(ctx, environment, at, e.caches[environment])
	if err != nil {
		return lane.Output{}, err
	}
	if p, stops := r.Problems.FirstStopping(); stops {
		return lane.Output{Problem: p.String()}, nil
	}
	return lane.Output{Tree: r.Tree, Owners: e.partition.NewOwners(r.Model)}, nil
}

// evaluateProof evaluates the proof of an environment's commit by what is reported of the objects of a lane alone; false if
// nothing is.
func (e *laneExplainer) evaluateProof(ctx context.Context, environment, name string) (gate.Verdict, bool) {
	i := slices.IndexFunc(e.stages, func(s *stageState) bool { return s.spec.Name == environment })
	s := e.stages[i]
	if name == lane.Platform { // whatever fails may be because of it
		return s.stage.Proof, true
	}
	if s.facts.MergedAt.IsZero() || len(s.facts.Fleets) > 0 || s.stage.External { // a fleet is known by clusters
		return gate.Verdict{}, false
	}
	objects, reported := e.findObjects(ctx, s), false
	drops := func(object string) bool {
		owns := object != "" && objects[object] == name
		reported = reported || owns
		return !owns
	}
	f := s.facts
	f.Reports = slices.DeleteFunc(slices.Clone(f.Reports), func(r rollout.Report) bool { return drops(objectOfReport(r.Object)) })
	f.OutputStatuses = slices.DeleteFunc(slices.Clone(f.OutputStatuses), func(st gate.CommitStatus) bool {
		object := objectOfStatus(st.Context) // others are about all lanes
		return object != "" && drops(object)
	})
	if !reported {
		return gate.Verdict{}, false
	}
	running := s.running.Evaluate(f)
	f.DeployedAt = e.promoter.now
	soaking := s.soaking.Evaluate(f)
	return gate.CombineVerdicts("proof", slices.Concat(running.Parts, soaking.Parts)), true
}

// reportedObjects are the kinds of objects that reports are about one by one.
var reportedObjects = []string{"kustomization", "helmrelease"}

// objectOfReport returns the kind and the name of a reported object, which is written "Kustomization/flux-system/apps".
func objectOfReport(object string) string {
	object, _, _ = strings.Cut(object, "@")
	parts := strings.Split(object, "/")
	if len(parts) != 3 || !slices.Contains(reportedObjects, strings.ToLower(parts[0])) {
		return ""
	}
	return strings.ToLower(parts[0]) + "/" + parts[2]
}

// objectOfStatus returns the kind and the name of the object that a status is about, as Flux's notification-controller writes it:
// "kustomization/apps/0a1b2c3d". It is "" for statuses of others.
func objectOfStatus(context string) string {
	parts := strings.Split(context, "/")
	if len(parts) != 3 || !slices.Contains(reportedObjects, parts[0]) {
		return ""
	}
	return parts[0] + "/" + parts[1]
}

// findObjects returns the lanes of the objects that reports may be about.
func (e *laneExplainer) findObjects(ctx context.Context, s *stageState) laneObjects {
	if known, ok := e.objects[s.spec.Name]; ok {
		return known
	}
	found := laneObjects{}
	e.objects[s.spec.Name] = found
	rendered, err := e.render(ctx, s.spec.Name, lane.Composition{Platform: s.stage.Commit})
	if err != nil || rendered.Problem != "" { // then it is not known what the reports are about
		return found
	}
	for file, content := range rendered.Tree.All() {
		objects, _ := manifest.Decode(content)
		for _, o := range objects {
			kind := strings.ToLower(o.Kind)
			if !slices.Contains(reportedObjects, kind) {
				continue
			}
			name, owner := kind+"/"+o.Name, rendered.Owners.Find(file)
			if other, known := found[name]; known && other != owner {
				owner = ""
			}
			found[name] = owner
		}
	}
	return found
}

// observeAll returns the stages of a chain as a round would find them, and the line of the base.
func (m *Promoter) observeAll(ctx context.Context, policy Policy) ([]*stageState, promote.Line, error) {
	all, problems := m.newStages(policy)
	if problems.Stops() {
		return nil, promote.Line{}, &BlockedError{problems}
	}
	line, err := m.observeStages(ctx, policy.base, all)
	return all, line, err
}
