package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

const notKnown = "not known"

// States of a rollout that the output has completely. Only clusters' reports show that
// the clusters exist.
const (
	rolloutInOutput = "in the output"
	rolloutSettled  = "settled"
)

// manifestRollout is the progress of a manifest in the output and on clusters.
type manifestRollout struct {
	// State is the output's phase, what it lacks, or that it is complete.
	State string `json:"state"`
	// Next is the next step, and Steps the number that the output lacks.
	Next  string `json:"next,omitempty"`
	Steps int    `json:"steps"`
	// Observed summarizes the clusters' reports.
	Observed string `json:"observed"`
	// Waits lists what the rollout waits for.
	Waits sentences    `json:"waits,omitempty"`
	Parts []shownPart  `json:"parts,omitempty"`
	stack string       // name of the manifest in approvals
	known manifestPlan // nil parts if the output was unreadable
	// awaited is the item of Waits about reports, which only count from the cluster
	// management.
	awaited, management string
}

// sentences are joined in human-readable output.
type sentences []string

func (s sentences) String() string { return strings.Join(s, ", ") }

type manifestPlan struct {
	clusterfiles.RenderedManifest
	carriers []environmentStack
	parts    environmentStack
}

type shownPart struct {
	stackfiles.ComponentSummary
	Status string `json:"status"` // "not known" without a report
}

func (c *clusterListCommand) readRollouts(ctx context.Context, m *model.Model) map[string]clusterfiles.RenderedManifest {
	all, err := c.readOutputManifests(ctx, m)
	if err != nil {
		fmt.Fprintf(c.app.stderr, "fairlead: note: the rollout is not known, because the output cannot be read: %s\n", display.SanitizeLine(err.Error()))
		return nil
	}
	return all
}

// outputBranch is an output branch with its latest commit; "" for none.
type outputBranch struct {
	to     *model.GitOpsRepo
	mirror *git.Repository
	head   string
}

func (c *clusterListCommand) openOutput(ctx context.Context, m *model.Model) (*outputBranch, error) {
	return c.fetchOutput(ctx, &c.input, m.OutputRepo())
}

// fetchOutput fetches an output branch. It returns nil for none, or if environments are
// only files.
func (cc *commandContext) fetchOutput(ctx context.Context, in *input, to *model.GitOpsRepo) (*outputBranch, error) {
	if to == nil || in.isPlain() {
		return nil, nil
	}
	if err := cc.readSettings(); err != nil {
		return nil, err
	}
	cc.controlPlane = cmp.Or(cc.controlPlane, in.options.ControlPlane)
	remote, err := cc.newMirrors().Fetch(ctx, giturl.Relocate(to.Repo, in.options.Map))
	if err != nil {
		return nil, err
	}
	head, err := remote.Mirror().FindBranch(to.Branch)
	return &outputBranch{to, remote.Mirror(), head}, err
}

func (o *outputBranch) summarizeStacks() ([]stackfiles.Summary, error) {
	return git.InspectTree(o.mirror, o.head, func(t tree.Tree) ([]stackfiles.Summary, error) {
		return stackfiles.Summarize(t.Sub(publish.CleanFolder(o.to.Path)))
	})
}

func (c *clusterListCommand) readOutputManifests(ctx context.Context, m *model.Model) (map[string]clusterfiles.RenderedManifest, error) {
	out, err := c.openOutput(ctx, m)
	if err != nil || out == nil {
		return nil, err
	}
	return c.readManifests(out, m)
}

// readManifests notes edited manifests and returns the ones that the daemon uses
// instead.
func (c *clusterListCommand) readManifests(out *outputBranch, m *model.Model) (map[string]clusterfiles.RenderedManifest, error) {
	if out.head == "" {
		return map[string]clusterfiles.RenderedManifest{}, nil
	}
	return inspectClusters(out, m, func(restored tree.Tree, edited map[string]string, commit string) (map[string]clusterfiles.RenderedManifest, error) {
		for _, folder := range slices.Sorted(maps.Keys(edited)) {
			fmt.Fprintf(c.app.stderr, "fairlead: note: %s: %s; what commit %.7s has counts\n", m.Environment, display.SanitizeLine(edited[folder]), commit)
		}
		return clusterfiles.ReadRendered(restored)
	})
}

func inspectClusters[T any](out *outputBranch, m *model.Model, use func(restored tree.Tree, edited map[string]string, commit string) (T, error)) (T, error) {
	intact, err := publish.FindIntact(nil, out.mirror, out.head, out.to.Path, m.Environment, len(m.Clusters.Manifests) > 0)
	if err != nil {
		var none T
		return none, err
	}
	return git.InspectTree(out.mirror, out.head, func(t tree.Tree) (T, error) {
		restored, edited := intact.Restore(t.Sub(publish.CleanFolder(out.to.Path)))
		return use(restored, edited, intact.Commit)
	})
}

func (c *clusterListCommand) checkOutput(ctx context.Context, m *model.Model) (problem.List, error) {
	out, err := c.openOutput(ctx, m)
	if err != nil || out == nil || out.head == "" {
		return nil, err
	}
	return inspectClusters(out, m, func(restored tree.Tree, _ map[string]string, _ string) (problem.List, error) {
		return clusterfiles.CheckPrevious(m, restored), nil
	})
}

// addStops adds the first problem to waiting rollouts, since nothing is proposed until
// it is fixed.
func (c *clusterListCommand) addStops(ctx context.Context, r source.Rendered, of []provisionedCluster) error {
	waits := func(p provisionedCluster) bool { return len(p.rollout.Waits) > 0 }
	if !slices.ContainsFunc(of, waits) {
		return nil
	}
	refused, err := c.checkOutput(ctx, r.Model)
	if err != nil {
		return err
	}
	across := acrossCheck{app: c.app, input: &c.input, byOrder: true}
	shared, err := across.check(ctx, r.Model)
	if err != nil {
		return err
	}
	stops := append(refused, shared[r.Environment]...).FindStopping("").Sorted()
	if len(stops) == 0 {
		return nil
	}
	first := fmt.Sprintf("this problem is mended, which stops %s: %s", r.Environment, stops[0])
	if n := len(stops); n > 1 {
		first = fmt.Sprintf("%d problems are mended, which stop %s, the first one: %s", n, r.Environment, stops[0])
	}
	for _, p := range of {
		if waits(p) && p.rollout.Waits[0] != first { // clusters of a manifest share a rollout
			p.rollout.Waits = slices.Insert(p.rollout.Waits, 0, first)
		}
	}
	return nil
}

// newManifestRollout returns the output's progress with a written manifest; rendered is
// nil for an unknown output.
func newManifestRollout(m *model.Model, desired provision.State, rendered map[string]clusterfiles.RenderedManifest) *manifestRollout {
	is, there := rendered[desired.Path()]
	r := &manifestRollout{State: notKnown, Observed: notKnown, stack: is.Parts.Stack}
	if rendered == nil {
		return r
	}
	folder := path.Join(clusterfiles.Folder, desired.Executor, desired.Namespace+"-"+desired.Name)
	if edited := rendered[folder].Edited; edited != nil {
		r.Waits = append(r.Waits, fmt.Sprintf("%s/%s of the output: %v; restore it from the last commit that Fairlead made", folder, provision.LockFile, edited))
		return r
	}
	current := is.State.WithoutRemoval()
	plan, err := provision.NewPlan(&current, &desired)
	if err != nil {
		return r
	}
	r.Steps = len(plan.Steps)
	if r.Steps > 0 {
		r.Next = plan.Steps[0].Sentence()
	}
	switch rollout := is.State.Rollout; {
	case !there:
		r.State = "not in the output"
		r.Waits = append(r.Waits, "a pull request of the output with it is merged")
	case rollout != nil:
		r.State = "phase " + string(rollout.Phase)
		r.Next = cmp.Or(r.Next, "remove what was kept until this is done")
		r.addWaits(m, is, &desired)
	case r.Steps > 0:
		r.State = "behind what is written"
		r.Waits = append(r.Waits, "the pull request of the output is merged")
	default:
		r.State = rolloutInOutput
		r.management = m.Stacks.ManagementCluster()
	}
	r.known = newManifestPlan(m.Environment, is)
	return r
}

// mergeWait applies if no report is needed or reports arrived.
const mergeWait = "the pull request of the output is merged"

// addWaits adds what a phase waits for: a merge, or reports of the management cluster.
func (r *manifestRollout) addWaits(m *model.Model, is clusterfiles.RenderedManifest, desired *provision.State) {
	switch changes := r.Steps > 0; {
	case changes && is.State.Executor == clusters.Tofu:
		current := is.State.WithoutRemoval()
		stage, err := provision.NextStage(&current, desired, func() bool { return false })
		if err == nil && !stage.Waits {
			r.Waits = append(r.Waits, mergeWait)
			return
		}
	case changes && !is.State.Rollout.IsDetaching(): // then kept files are removed
		r.Waits = append(r.Waits, mergeWait)
	}
	report := " reports " + nameCarriers(is) + " as ready: the next pull request is proposed then"
	if management := m.Stacks.ManagementCluster(); management != "" {
		r.management = management
		r.awaited = "cluster " + r.management + ", which spec.managementCluster names," + report
		r.Waits = append(r.Waits, r.awaited)
		return
	}
	r.Waits = append(r.Waits, "the management cluster"+report, "a StackSettings names the management cluster in spec.managementCluster: without it no report counts")
}

func nameCarriers(is clusterfiles.RenderedManifest) string {
	var objects []string
	for _, c := range is.Carriers {
		for _, name := range c.Kustomizations {
			objects = append(objects, "Kustomization/"+c.Namespace+"/"+name)
		}
	}
	return text.Join(objects, " and ")
}

// findLeaving returns clusters in the output that are no longer written; rendered is
// nil for an unknown output.
func findLeaving(m *model.Model, written []*clusters.Manifest, rendered map[string]clusterfiles.RenderedManifest) []provisionedCluster {
	var all []provisionedCluster
	for _, manifest := range slices.Sorted(maps.Keys(rendered)) {
		is := rendered[manifest]
		i := slices.IndexFunc(written, func(m *clusters.Manifest) bool { return m.Path() == manifest })
		desired := provision.State{Namespace: is.State.Namespace, Name: is.State.Name, Executor: is.State.Executor}
		if i >= 0 {
			desired = provision.NewState(written[i].InputManifest, &m.Clusters)
		}
		add := func(c *claudie.Cluster, what string) {
			if i >= 0 && written[i].FindUnit(c.Name) != nil {
				return
			}
			rollout := newManifestRollout(m, desired, rendered)
			rollout.State = what
			all = append(all, provisionedCluster{m.Environment, manifest, is.State.Executor, &clusters.Unit{Cluster: c}, &is.State.Spec, rollout})
		}
		for k := range is.State.Spec.Kubernetes.Clusters {
			add(&is.State.Spec.Kubernetes.Clusters[k], "to be destroyed")
		}
		if is.State.Rollout == nil {
			continue
		}
		for _, name := range is.State.Rollout.Leaving {
			add(&claudie.Cluster{Name: name}, "being destroyed")
		}
	}
	return all
}

// newManifestPlan returns carriers as stacks, because reports are queried by stack.
func newManifestPlan(environment string, is clusterfiles.RenderedManifest) manifestPlan {
	var carriers []environmentStack
	for _, c := range is.Carriers {
		one := stackfiles.Summary{Namespace: c.Namespace}
		for _, name := range c.Kustomizations {
			one.Components = append(one.Components, stackfiles.ComponentSummary{Name: name, Object: name})
		}
		carriers = append(carriers, newEnvironmentStack(environment, one))
	}
	return manifestPlan{is, carriers, newEnvironmentStack(environment, is.Parts)}
}

func (r *manifestRollout) isReported(statuses componentStatuses) bool {
	return len(r.known.carriers) > 0 && !slices.ContainsFunc(r.known.carriers, func(carrier environmentStack) bool {
		return slices.ContainsFunc(carrier.Components, func(c stackfiles.ComponentSummary) bool {
			status := statuses[carrier.key(c)]
			return status.Status != stackview.Ready || status.Cluster != r.management
		})
	})
}

func (r *manifestRollout) isMade(statuses componentStatuses) bool {
	return len(r.known.carriers) > 0 && !slices.ContainsFunc(append(slices.Clone(r.known.carriers), r.known.parts), func(of environmentStack) bool {
		return slices.ContainsFunc(of.Components, func(c stackfiles.ComponentSummary) bool {
			status := statuses[of.key(c)].Status
			return status != stackview.Ready && status != stackview.Destroyed
		})
	})
}

// addReports adds the clusters' reports; nil means no ledger.
func (r *manifestRollout) addReports(statuses componentStatuses) {
	carriers, parts := r.known.carriers, r.known.parts
	switch {
	case r.State != rolloutInOutput:
	case r.isMade(statuses):
		r.State = rolloutSettled
	case len(carriers) > 0:
		by := "the management cluster"
		if r.management != "" {
			by = "cluster " + r.management
		}
		r.Waits = append(r.Waits, by+" reports "+nameCarriers(r.known.RenderedManifest)+" as ready: no report shows yet that the manifest is carried out")
	}
	if statuses != nil && len(carriers) > 0 {
		r.Observed = statuses.summarize(carriers...)
	}
	if i := slices.Index(r.Waits, r.awaited); i >= 0 && r.isReported(statuses) {
		r.Waits[i] = mergeWait + ": cluster " + r.management + " has reported what comes before it; the daemon proposes it if it is not open yet"
	}
	for _, c := range parts.Components {
		status := cmp.Or(statuses[parts.key(c)].Status, notKnown)
		r.Parts = append(r.Parts, shownPart{c, status})
		if status == stackview.Waits && c.Approval == "" {
			r.Waits = append(r.Waits, fmt.Sprintf("a person approves the plan of %s: %s", c.Name, approvalCommand(parts.Environment, r.stack+"/"+c.Name, c.Inputs, "")))
		}
	}
}

func (c *clusterListCommand) addRollouts(ctx context.Context, all []provisionedCluster) error {
	var asked []environmentStack
	var rollouts []*manifestRollout
	for _, p := range all {
		if r := p.rollout; !slices.Contains(rollouts, r) {
			rollouts = append(rollouts, r)
			asked = append(append(asked, r.known.carriers...), r.known.parts)
		}
	}
	asked = slices.DeleteFunc(asked, func(s environmentStack) bool { return len(s.Components) == 0 })
	if len(asked) == 0 {
		return nil
	}
	statuses, err := c.readStatuses(ctx, asked)
	if err != nil {
		return err
	}
	for _, r := range rollouts {
		r.addReports(statuses)
	}
	return nil
}

func (r *manifestRollout) text(to *display.Stream, isWide bool) string {
	next := "nothing"
	switch {
	case r.State == notKnown:
		next = notKnown
	case r.Steps > 1:
		next = fmt.Sprintf("%s (the first of %d steps)", r.Next, r.Steps)
	case r.Next != "":
		next = r.Next
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nrollout:    %s\nnext step:  %s\nobserved:   %s\n", display.SanitizeLine(r.State), display.SanitizeLine(next), display.SanitizeLine(r.Observed))
	for _, what := range r.Waits {
		fmt.Fprintf(&b, "waits until %s\n", display.SanitizeLine(what))
	}
	if len(r.Parts) == 0 {
		return b.String()
	}
	l := listing{columns: []column{{key: "part"}, {key: "action"}, {key: "after", fit: display.Shorten}, {key: "approval"}, {key: "inputs"}, {key: "status"}, {key: "plan", wide: true}}}
	for _, p := range r.Parts {
		l.rows = append(l.rows, []any{p.Name, string(p.Action), p.After, p.Approval, p.Inputs, p.Status, p.Plan})
	}
	return b.String() + "\n" + l.table().Format(to, isWide)
}
