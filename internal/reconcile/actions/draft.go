package actions

import (
	"context"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// ProblemsError is the error of an edit that makes the control plane worse.
type ProblemsError struct{ List problem.List }

// Error returns the first problem.
func (e *ProblemsError) Error() string {
	first, _ := e.List.FirstStopping()
	wrong, _ := e.List.Count()
	return fmt.Sprintf("the change was not written: it adds %s: %s", text.Count(wrong, "problem"), first)
}

// draft is a change that is not written yet: commits that no branch has.
type draft struct {
	base        string // of the base; "" if that is not changed
	environment string // the environment whose branch is changed; "" for none
	commit      string // of that branch
}

// effect is what a change means for one environment.
type effect struct {
	environment string
	title, text string // "" if its output stays as it is
}

// examination is what a draft makes of the control plane.
type examination struct {
	warnings problem.List // that are not there without it
	effects  []effect
}

// examine reads and renders the environments that a draft changes, as they are with it and without it. The error is a
// [*ProblemsError] if there are problems with it that are not there without it: those that check finds.
func (d *Session) examine(ctx context.Context, v snapshot, dr draft) (examination, error) {
	before, err := d.openAt(ctx, v.base.Head)
	if err != nil {
		return examination{}, err
	}
	after := before
	if dr.base != "" {
		after, err = d.openAt(ctx, dr.base)
		if err != nil {
			return examination{}, err
		}
	}
	was, err := d.checkDraft(ctx, before, nil, draft{environment: dr.environment}, dr.base != "")
	if err != nil {
		return examination{}, err
	}
	is, err := d.checkDraft(ctx, after, &was, dr, dr.base != "")
	if err != nil {
		return examination{}, err
	}
	var x examination
	added := withoutEarlier(is.problems, was.problems)
	if added.Stops() {
		return x, &ProblemsError{added}
	}
	x.warnings = added
	x.effects, err = compareRendered(was.rendered, is.rendered)
	return x, err
}

// openAt opens the control plane with the base at a commit. Repositories are read as they are already known.
func (d *Session) openAt(ctx context.Context, base string) (*source.Source, error) {
	o := d.options
	return source.Open(ctx, source.Options{
		ControlPlane: o.ControlPlane, BaseBranch: o.BaseBranch, Base: base, Map: o.Map, Registries: o.Registries, Parser: model.NewParser(), Rendering: o.Rendering, ReportUnreachable: true,
		Open: func(ctx context.Context, place string) (*git.Repository, error) {
			if known := o.Mirrors.Known(place); known != nil && known.Mirror() != nil {
				return known.Mirror(), nil
			}
			return o.Mirrors.Open(ctx, place)
		},
	})
}

// checked is the environments that a draft concerns, and the problems of the control plane.
type checked struct {
	rendered []source.Rendered
	problems problem.List
	caches   map[string]*output.Cache // by environment: with a draft, little is rendered again
}

// checkDraft checks the control plane as a source reads it, and renders the environments that the draft concerns: one, or
// all if the base is changed. before is without the draft; nil if this is.
func (d *Session) checkDraft(ctx context.Context, s *source.Source, before *checked, dr draft, isBase bool) (checked, error) {
	if before == nil {
		before = &checked{caches: map[string]*output.Cache{}}
	}
	c := checked{caches: before.caches}
	all, err := s.EnvironmentNames(ctx)
	if err != nil {
		return c, err
	}
	names := all
	if !isBase {
		names = []string{dr.environment}
	} else if err := c.addOrder(ctx, s, d.options.Next); err != nil {
		return c, err
	}
	var models []*model.Model
	for _, name := range names {
		at := source.Revisions{}
		if name == dr.environment {
			at.Environment = dr.commit
		}
		if c.caches[name] == nil {
			c.caches[name] = &output.Cache{}
		}
		r, err := s.Render(ctx, name, at, c.caches[name])
		if err != nil {
			return c, err
		}
		c.rendered, c.problems = append(c.rendered, r), append(c.problems, r.Problems...)
		if r.Model != nil && !r.Problems.StopsEnvironment() {
			models = append(models, r.Model)
		}
		if i := slices.IndexFunc(before.rendered, func(b source.Rendered) bool { return b.Environment == name }); i >= 0 && before.rendered[i].Model != nil && r.Model != nil {
			err = c.addChanges(ctx, s, before.rendered[i].Model, r.Model, all)
		}
		if err != nil {
			return c, err
		}
	}
	for _, found := range publish.FindRivals(models, func(repo string) string { return giturl.Relocate(repo, d.options.Map) }) {
		c.problems = append(c.problems, found...)
	}
	c.problems = c.problems.Sorted()
	return c, nil
}

func (c *checked) addOrder(ctx context.Context, s *source.Source, next map[string]string) error {
	base, err := s.Base(ctx)
	if err != nil {
		return err
	}
	chain, problems := model.NewChain(base.Progress, base.Environments, next)
	c.problems = append(append(c.problems, problems...), base.Progress.Problems...)
	for _, stage := range chain.Stages {
		_, _, wrong := gate.CompileStage(stage)
		c.problems = append(c.problems, wrong...)
	}
	return nil
}

func (c *checked) addChanges(ctx context.Context, s *source.Source, before, now *model.Model, all []string) error {
	claimed, err := s.FindClaimed(ctx, before, now, all, "")
	c.problems = append(output.WithIdleSince(before, now, all, c.problems), provision.CheckModel(provision.NewStates(before), now)...)
	c.problems = append(c.problems, claimed...)
	return err
}

// withoutEarlier returns the problems that are not among earlier ones; lines may have moved.
func withoutEarlier(all, earlier problem.List) problem.List {
	return slices.DeleteFunc(slices.Clone(all), func(p problem.Problem) bool {
		return slices.ContainsFunc(earlier, func(e problem.Problem) bool {
			return e.Subject == p.Subject && e.Summary == p.Summary && e.Pos.File == p.Pos.File && (p.Warning || !e.Warning)
		})
	})
}

// compareRendered returns what changes in the output of each environment. One that is gone has an empty output.
func compareRendered(before, after []source.Rendered) ([]effect, error) {
	names := list.Convert(after, func(r source.Rendered) string { return r.Environment })
	for _, r := range before {
		if !slices.Contains(names, r.Environment) {
			after = append(after, source.Rendered{Environment: r.Environment})
		}
	}
	var effects []effect
	for _, r := range after {
		was, old := tree.Tree{}, (*model.Model)(nil)
		if i := slices.IndexFunc(before, func(b source.Rendered) bool { return b.Environment == r.Environment }); i >= 0 {
			if before[i].Problems.StopsEnvironment() {
				continue
			}
			was, old = before[i].Tree, before[i].Model
		}
		if r.Problems.StopsEnvironment() {
			continue
		}
		report, err := compareOutputs(was, old, r)
		if err != nil {
			return nil, err
		}
		if !report.IsEmpty() {
			effects = append(effects, effect{r.Environment, report.Title(maxEffectTitle), report.Text()})
		}
	}
	return effects, nil
}

// maxEffectTitle bounds the line about one environment.
const maxEffectTitle = 160

// maxWarnings bounds the warnings that are shown of a change.
const maxWarnings = 5

func (x examination) describe(c *change) {
	for i, p := range x.warnings {
		if i == maxWarnings {
			c.notes = append(c.notes, fmt.Sprintf("and %s more: fairlead check names them", text.Count(len(x.warnings)-i, "warning")))
			break
		}
		note := "warning: " + p.String()
		if p.Hint != "" {
			note += " (" + p.Hint + ")"
		}
		c.notes = append(c.notes, note)
	}
	if x.effects == nil {
		c.notes = append(c.notes, "no environment's output changes")
	}
	for _, e := range x.effects {
		c.notes = append(c.notes, e.environment+": "+e.title)
		c.shown += "in " + e.environment + ": " + e.text + "\n"
	}
}
