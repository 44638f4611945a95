package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// planReport is what a cluster says of what was applied of a root module.
type planReport struct {
	event  observe.Event
	object string // "Terraform/namespace/name"
	commit string // of the root module
	drift  string // what differs; "" if nothing does
}

// readPlanReports returns what clusters say of Terraform objects. It reads all that they say, once for
// all environments.
func (l *Loop) readPlanReports() []planReport {
	var all []planReport
	l.options.Inbox.Reports(func(event observe.Event) (current, ok bool) {
		object, _, _ := strings.Cut(event.Object, "@")
		if event.Commit == "" || !strings.HasPrefix(object, "Terraform/") {
			return false, false
		}
		switch {
		case event.Phase == rollout.Drifted:
			all = append(all, planReport{event, object, event.Commit, cmp.Or(event.Message, "its resources differ")})
		case event.Phase == rollout.Ready:
			all = append(all, planReport{event, object, event.Commit, ""})
		}
		return false, false
	})
	return all
}

// hasPlans reports whether tofu-controller makes plans of what a model has: of stacks, or of the parts of
// clusters.
func hasPlans(m *model.Model) bool {
	isPlanned := func(i *model.InputManifest) bool { return i.Annotations[model.ExecutorAnnotation] == clusters.Tofu }
	return m != nil && (len(m.Stacks.List) > 0 || slices.ContainsFunc(m.Clusters.Manifests, isPlanned))
}

// notePlanReports stores what clusters say of Terraform objects for the round, if an environment has
// plans. An environment that does not get to its proposals now does so in a round of its own, and not
// because the same drift looks new again.
func (l *Loop) notePlanReports(all []*environment) {
	l.planReports = nil
	asks := func(e *environment) bool { return e.hasPlans || hasPlans(e.attempt.rendered.Model) }
	if l.options.Inbox != nil && slices.ContainsFunc(all, asks) {
		l.planReports = l.readPlanReports()
	}
	for _, e := range all {
		e.drifts = driftsOf(e.selectReports(l.planReports))
	}
}

func (e *environment) selectReports(all []planReport) []planReport {
	var mine []planReport
	for _, r := range all {
		if e.isReportedBy(r.event) {
			mine = append(mine, r)
		}
	}
	return mine
}

func driftsOf(reports []planReport) string {
	var all []string
	for _, r := range reports {
		if r.drift != "" {
			all = append(all, r.object+" "+r.commit)
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "\n")
}

func (l *Loop) hasNewDrift() bool {
	var planned []*environment
	for _, e := range l.environments {
		if e.hasPlans {
			planned = append(planned, e)
		}
	}
	if l.options.Inbox == nil || len(planned) == 0 {
		return false
	}
	reports := l.readPlanReports()
	return slices.ContainsFunc(planned, func(e *environment) bool { return driftsOf(e.selectReports(reports)) != e.drifts })
}

func (l *Loop) requestBranches(environment string) string {
	return l.options.Settings.Output.BranchPrefix + "change/plan/" + environment + "/"
}

// proposePlanRequests proposes, for each component of a stack and each part of a cluster that has drifted
// and whose plans a person approves, to make another plan: tofu-controller offers none after drift. It is one pull request for a component, which
// stays the same one, and is closed when clusters report that the drift is gone.
func (l *Loop) proposePlanRequests(ctx context.Context, e *environment, m *model.Model) error {
	e.hasPlans, e.planPulls = hasPlans(m), map[string]forge.Pull{}
	if l.options.Inbox == nil || !mayWrite(ctx, l.options.Settings) || m == nil || !e.hasPlans && e.asksForNone {
		return nil
	}
	reports := e.selectReports(l.planReports)
	branch, err := l.source.Branch(ctx, e.name)
	if err != nil || branch.Repo == nil {
		return err
	}
	remote := l.remotes.RemoteOf(branch.URL)
	if remote == nil || remote.Mirror() == nil {
		return nil
	}
	open, err := remote.Mirror().Refs("refs/heads/" + l.requestBranches(e.name))
	e.asksForNone = err == nil && len(open) == 0
	if err != nil || e.drifts == "" && len(open) == 0 {
		return err
	}
	components, err := l.readPlannedComponents(ctx, m)
	if err != nil {
		return err
	}
	f, err := remote.Forge()
	if err != nil {
		return err
	}
	o := l.publishOptions(remote, f)
	var failed []error
	for _, name := range slices.Sorted(maps.Keys(components)) {
		c := components[name]
		head := l.requestBranches(e.name) + name
		delete(open, "refs/heads/"+head)
		pull, err := l.settlePlanRequest(ctx, o, planRequest{e.name, name, head, branch, c, m}, reports)
		if pull.State == forge.Open {
			e.planPulls[c.stack+" "+c.Name] = pull
		}
		failed = append(failed, err)
	}
	for ref := range open {
		failed = append(failed, publish.Withdraw(ctx, o, strings.TrimPrefix(ref, "refs/heads/"), branch.Name, requestTrailer(e.name, path.Base(ref)), "The component has no plans any more."))
	}
	return errors.Join(failed...)
}

type plannedComponent struct {
	stackfiles.ComponentSummary
	stack, namespace string
}

func (c plannedComponent) object() string { return "Terraform/" + c.namespace + "/" + c.Object }

// readPlannedComponents returns the components and the parts of clusters with plans in the output branch of
// an environment, by their names in branches.
func (l *Loop) readPlannedComponents(ctx context.Context, m *model.Model) (map[string]plannedComponent, error) {
	all := map[string]plannedComponent{}
	to := m.OutputRepo()
	if to == nil {
		return all, nil
	}
	out, err := l.remotes.OpenOutput(ctx, l.remotes.ReadLocation(to.Repo))
	if err != nil {
		return nil, err
	}
	head, err := out.Mirror().FindBranch(to.Branch)
	if err != nil || head == "" {
		return all, err
	}
	stacks, err := git.InspectTree(out.Mirror(), head, func(t tree.Tree) ([]stackfiles.Summary, error) {
		return clusterfiles.SummarizePlans(t.Sub(publish.CleanFolder(to.Path)))
	})
	for _, s := range stacks {
		for _, c := range s.Components {
			if c.Plan != "" {
				all[stackfiles.FlatName(s.Stack+"/"+c.Name)] = plannedComponent{c, s.Stack, s.Namespace}
			}
		}
	}
	return all, err
}

type planRequest struct {
	environment, name string
	head              string // the branch that proposes it
	branch            source.Branch
	component         plannedComponent
	model             *model.Model
}

func requestTrailer(environment, name string) string {
	return "Fairlead-Plan-Request: " + environment + "/" + name
}

// settlePlanRequest proposes a request if the component has drifted at the root module that it has, and
// withdraws it if that is known to be gone.
func (l *Loop) settlePlanRequest(ctx context.Context, o publish.Options, r planRequest, reports []planReport) (forge.Pull, error) {
	c := r.component
	applied, drift := "", ""
	known := false
	for _, report := range reports {
		if report.object != c.object() || !c.IsPlannedAt(report.commit) {
			continue
		}
		known = true
		if report.drift != "" {
			applied, drift = report.commit, report.drift
		}
	}
	wanted := drift != "" && c.Action == stackfiles.Apply && c.Approval != "auto"
	switch {
	case !wanted && known:
		return forge.Pull{}, publish.Withdraw(ctx, o, r.head, r.branch.Name, requestTrailer(r.environment, r.name), "There is no drift any more, or nothing to approve.")
	case !wanted: // no cluster has reported the root module that it has now
		return forge.Pull{}, nil
	}
	edit, err := r.newEdit(applied)
	if err != nil || edit == nil {
		return forge.Pull{}, err
	}
	title := fmt.Sprintf("Plan %s/%s in %s again: it has drifted", c.stack, c.Name, r.environment)
	edit.Message = fmt.Sprintf("%s\n\n%s\n", forge.OneLine(title, 200), requestTrailer(r.environment, r.name))
	pull, err := edit.Propose(ctx, o, forge.Proposal{
		Mark: "plan request " + r.environment + "/" + r.name, Head: r.head, Base: r.branch.Name, Title: forge.FitTitle(title), Body: r.body(drift),
	})
	if errors.Is(err, git.ErrStale) { // the next round has the branch as it is
		return pull, nil
	}
	return pull, err
}

type requestSpec struct {
	Stack     string `yaml:"stack"`
	Component string `yaml:"component"`
	After     string `yaml:"after"`
	Reason    string `yaml:"reason"`
}

// newEdit returns the edit that asks for another plan after a commit; nil if people have written a
// request elsewhere. An approval of the plan before goes with it: it would stop the environment.
func (r planRequest) newEdit(applied string) (*publish.Edit, error) {
	file := path.Join(r.branch.Folder, source.OwnFolder, "plan-requests", r.name+".yaml")
	for _, q := range r.model.Stacks.Requests {
		if q.Stack == r.component.stack && q.Component == r.component.Name && q.Pos.File != file {
			return nil, nil
		}
	}
	text, err := model.EncodeObject("PlanRequest", r.name, requestSpec{r.component.stack, r.component.Name, applied, "drift"})
	edit := &publish.Edit{Branch: r.branch.Name, Head: r.branch.Head, Files: map[string][]byte{file: text}, When: r.branch.When}
	for _, a := range r.model.Stacks.Approvals {
		if a.Stack == r.component.stack && a.Component == r.component.Name && a.Pos.File == source.PlanFile(r.branch.Folder, r.name) {
			edit.Files[a.Pos.File] = nil
		}
	}
	return edit, err
}

func (r planRequest) body(drift string) string {
	c := r.component
	return fmt.Sprintf("**The component %s of %s has drifted**: what was applied has changed since.\n\n> %s\n\n"+
		"Its plans wait for approval, so that nothing corrects it. Merge this to have a new plan made, which is approved as any other:\n\n"+
		"    fairlead approve-plan %s %s/%s --inputs DIGEST\n\n"+
		"Close it to leave the component as it is; Fairlead closes it when clusters report that the drift is gone.\n",
		forge.CodeSpan(c.Name), forge.CodeSpan(c.stack), forge.EscapeMarkdown(forge.OneLine(drift, 300)), r.environment, c.stack, c.Name)
}
