package actions

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/edit"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/rootmodule"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// CloneStack writes a copy of a stack of an environment, or of a blueprint, under another name and with some
// values set, to the branch of an environment.
func (d *Session) CloneStack(ctx context.Context, environment, into, from, to string, set []stack.Setting, reason string) (Result, error) {
	return d.perform(ctx, into, func(snapshot) (change, error) {
		m, err := d.loadSoundModel(ctx, environment, from)
		if err != nil {
			return change{}, err
		}
		target := m
		if into != environment {
			target, err = d.loadSoundModel(ctx, into, to)
		}
		if err != nil {
			return change{}, err
		}
		others, err := d.readClaims(ctx, into)
		if err != nil {
			return change{}, err
		}
		copied, err := stack.Clone(m, target, from, to, set, func(m *model.Model) problem.List {
			_, problems := stackfiles.Render(m)
			return append(problems, stack.CheckClaims(append(slices.Clone(others), rootmodule.NewClaims(m)))[into]...)
		})
		return change{
			action: cloneAction, environment: into, part: to, reason: reason, files: copied.Files, notes: copied.Notes,
			title:   fmt.Sprintf("Clone the stack %s as %s in %s", from, to, into),
			summary: fmt.Sprintf("%s is a copy of %s, in %s", to, from, copied.File),
		}, err
	})
}

// MakeBlueprint writes a blueprint that is made of a stack to the base. Once the base of the environment has it, it has the
// stack take it. What is rendered of the environment stays as it is.
func MakeBlueprint(ctx context.Context, d *Session, environment, from, name, reason string) (Result, error) {
	m, err := d.loadSoundModel(ctx, environment, from)
	if err != nil {
		return Result{}, err
	}
	e, err := stack.Extract(m, from, name)
	if err == nil {
		err = checkUnchanged(m, e.After, from)
	}
	switch {
	case err != nil:
		return Result{}, err
	case e.InBase:
		return d.perform(ctx, environment, func(snapshot) (change, error) {
			return change{
				action: cloneAction, environment: environment, part: from, reason: reason, files: e.Stack.Files, notes: e.Stack.Notes,
				title:   fmt.Sprintf("Have the stack %s take the blueprint %s in %s", from, name, environment),
				summary: fmt.Sprintf("%s takes the blueprint %s, and nothing else changes", from, name),
			}, nil
		})
	}
	return d.perform(ctx, "", func(v snapshot) (change, error) {
		c := change{
			action: cloneAction, part: name, reason: reason, files: e.Blueprint.Files,
			notes:   append(e.Blueprint.Notes, fmt.Sprintf("when %s has the commit, run the command again: then %s takes the blueprint", environment, from)),
			title:   fmt.Sprintf("Make the blueprint %s of the stack %s of %s", name, from, environment),
			summary: fmt.Sprintf("%s is a blueprint made of %s", e.Blueprint.File, from),
		}
		repo, head, _ := v.place()
		if repo == nil {
			return change{}, problem.Refusef("", "the base is a folder, in which nothing is committed")
		}
		found, err := git.InspectTree(repo, head, func(files tree.Tree) (string, error) { return findTaken(files, name, e.Blueprint.Files), nil })
		if err == nil && found != "" {
			err = problem.Refusef("promote the base to "+environment+", or take another name", "the base has %s already, which %s does not have", found, environment)
		}
		if err != nil {
			return change{}, err
		}
		return examineEdit(ctx, d, v, c, c.summary)
	})
}

// findTaken returns what the base has of a blueprint and its files; "" for nothing that differs.
func findTaken(base tree.Tree, name string, files map[string][]byte) string {
	m, _ := model.Parse("", model.Layer{Kind: model.Base, Files: base})
	if _, is := model.IndexOf(m.Stacks.Blueprints, name); is {
		return stack.BlueprintPrefix + name
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if e, is := base.Lookup(file); is && string(e.Data) != string(files[file]) {
			return file
		}
	}
	return ""
}

// checkUnchanged refuses a change of an environment that changes what is rendered of its stacks.
func checkUnchanged(before, after *model.Model, name string) error {
	was, _ := stackfiles.Render(before)
	now, problems := stackfiles.Render(after)
	if p, stops := problems.FindStopping(name).FirstStopping(); stops {
		return problem.Refusef(p.Hint, "with the blueprint, %s would have a problem: %s", name, p)
	}
	for c := range tree.Diff(was, now) {
		return problem.Refusef("write by hand what differs", "%s cannot take the blueprint: %s would change", name, c.Path)
	}
	return nil
}

func (d *Session) readClaims(ctx context.Context, without string) ([]stack.Claims, error) {
	environments, err := d.Environments(ctx)
	if err != nil {
		return nil, err
	}
	var all []stack.Claims
	for _, e := range environments {
		if e == without {
			continue
		}
		m, _, err := d.source.LoadModel(ctx, e, source.Revisions{})
		if err != nil {
			return nil, err
		}
		if m != nil {
			all = append(all, rootmodule.NewClaims(m))
		}
	}
	return all, nil
}

// TearDownStack has a stack torn down, by its file on the branch of its environment. Approvals of plans go with it:
// they are of plans that are not made any more, and would stop it.
func (d *Session) TearDownStack(ctx context.Context, environment, name, reason string) (Result, error) {
	return d.perform(ctx, environment, func(v snapshot) (change, error) {
		m, err := d.loadSoundModel(ctx, environment, name)
		if err != nil {
			return change{}, err
		}
		t, err := stack.TearDown(m, name)
		done := change{
			action: tearDownAction, environment: environment, part: name, reason: reason, notes: t.Notes,
			title:   fmt.Sprintf("Tear down the stack %s in %s", name, environment),
			summary: fmt.Sprintf("%s is torn down once the change of the output is merged: remove %s when clusters have destroyed it", name, t.File),
		}
		if t.Text == nil {
			done.summary = name + " is torn down already"
			return done, err
		}
		done.files = map[string][]byte{t.File: t.Text}
		for _, a := range m.Stacks.Approvals {
			if a.Stack == name && a.Pos.File == source.PlanFile(v.branch.Folder, stackfiles.FlatName(name+"/"+a.Component)) {
				done.files[a.Pos.File] = nil // it does not count any more
			}
		}
		return done, err
	})
}

// FindStack returns the environment that has a stack, and the name of that in full, as "team/environment": the
// team may be left out of what is asked for. Environments that cannot be read are passed over.
func (d *Session) FindStack(ctx context.Context, name string) (environment, stack string, err error) {
	environments, err := d.Environments(ctx)
	if err != nil {
		return "", "", err
	}
	var found, known []string
	for _, e := range environments {
		m, _, err := d.source.LoadModel(ctx, e, source.Revisions{})
		if err != nil {
			return "", "", err
		}
		if m == nil {
			continue
		}
		for _, s := range m.Stacks.List {
			full := s.TeamName.Text + "/" + s.EnvName.Text
			known = append(known, full)
			if full == name || s.EnvName.Text == name {
				environment, stack = e, full
				found = append(found, full+" in "+e)
			}
		}
	}
	switch len(found) {
	case 0:
		return "", "", problem.Refusef(cmp.Or(problem.DidYouMean(name, known), "fairlead stack list lists the stacks"), "no environment has a stack %s", name)
	case 1:
		return environment, stack, nil
	}
	return "", "", problem.Refusef("name the environment too, and the stack as TEAM/STACK", "there are several stacks %s: %s", name, text.Join(found, " and "))
}

func (d *Session) loadSoundModel(ctx context.Context, environment, stack string) (*model.Model, error) {
	m, problems, err := d.source.LoadModel(ctx, environment, source.Revisions{})
	if err != nil {
		return nil, err
	}
	if p, stops := problems.FindStopping(stack).FirstStopping(); stops {
		return nil, problem.Refusef("mend it first", "%s has problems: %s", environment, p)
	}
	if m == nil {
		return nil, fmt.Errorf("read %s: %w", environment, git.ErrNoRevision)
	}
	return m, nil
}

// PinModules writes the current tags, or else commits, of modules that a stack, "team/environment", names without a
// version. For a blueprint, environment is "".
func PinModules(ctx context.Context, d *Session, environment, name, reason string) (Result, error) {
	return d.perform(ctx, environment, func(v snapshot) (change, error) {
		repo, head, _ := v.place()
		if repo == nil {
			return change{}, problem.Refusef("", "the base is a folder, in which nothing is committed")
		}
		c, err := git.InspectTree(repo, head, func(files tree.Tree) (change, error) {
			written, err := findPinnable(ctx, d, files, environment, name)
			if err != nil {
				return change{}, err
			}
			c := change{action: pinAction, environment: environment, part: name, reason: reason, title: "Pin the modules of " + written.Subject()}
			return c, c.pin(ctx, d.options, files, written)
		})
		if err != nil || c.files == nil {
			return c, err
		}
		return examineEdit(ctx, d, v, c, c.summary)
	})
}

func findPinnable(ctx context.Context, d *Session, files tree.Tree, environment, name string) (*model.Stack, error) {
	place, all := "the base", []*model.Stack(nil)
	nameOf := func(s *model.Stack) string { return s.Name }
	if environment == "" {
		m, _ := model.Parse("", model.Layer{Kind: model.Base, Files: files}) // what is wrong with it stops none of the names
		all = m.Stacks.Blueprints
	} else {
		m, err := d.loadSoundModel(ctx, environment, name)
		if err != nil {
			return nil, err
		}
		place, all, nameOf = environment, m.Stacks.List, (*model.Stack).Path
	}
	i := slices.IndexFunc(all, func(s *model.Stack) bool { return nameOf(s) == name })
	switch {
	case i < 0:
		return nil, problem.Refusef(cmp.Or(problem.DidYouMean(name, list.Convert(all, nameOf)), "fairlead stack list lists the stacks"), "%s has no stack %s", place, name)
	case environment != "" && all[i].Pos.Layer != environment:
		return nil, problem.Refusef("write the versions there", "the stack %s is written in %s, and not on the branch of %s", name, all[i].Pos.Layer, environment)
	}
	return all[i], nil
}

func (c *change) pin(ctx context.Context, o Options, files tree.Tree, written *model.Stack) error {
	found, others := rootmodule.ListUnversioned(written.Components)
	c.notes = others
	var settings []edit.Setting
	for _, u := range found {
		if written.PositionAt(u.Line).Layer != written.Pos.Layer {
			c.notes = append(c.notes, fmt.Sprintf("the module of %s is in the blueprint: fairlead stack pin %s%s", u.Component, stack.BlueprintPrefix, written.Blueprint.Name))
			continue
		}
		version, err := findVersion(ctx, o, u)
		if err != nil {
			return err
		}
		settings = append(settings, u.Pin(version))
		c.notes = append(c.notes, fmt.Sprintf("%s: %s at %s", u.Component, giturl.Redact(u.Repo), version))
	}
	if settings == nil {
		c.summary = "no module in Git lacks a version in " + written.Pos.File
		return nil
	}
	file, content, err := edit.Set(files, edit.StackKind, written.Name, c.environment, settings)
	c.files, c.summary = map[string][]byte{file: content}, fmt.Sprintf("%s in %s get a version", text.Count(len(settings), "module"), file)
	return err
}

func findVersion(ctx context.Context, o Options, u rootmodule.UnversionedModule) (string, error) {
	remote, err := o.Mirrors.Remote(giturl.Relocate(u.Repo, o.Map))
	if err != nil {
		return "", err
	}
	refs, err := remote.ListReferences(ctx)
	if err != nil {
		return "", problem.Refusef("map in fairlead.yaml reads it elsewhere", "find the version of the module of %s: %v", u.Component, err)
	}
	commit := refs.Head
	if u.Ref != "" && u.Ref != stack.HeadRef {
		commit = cmp.Or(refs.Branches[strings.TrimPrefix(u.Ref, "refs/heads/")], refs.Tags[u.Ref])
	}
	if commit == "" {
		return "", problem.Refusef("name a branch or a tag that it has", "%s has no %s, which the module of %s names", giturl.Redact(u.Repo), cmp.Or(u.Ref, "commit"), u.Component)
	}
	version := ""
	for tag, id := range refs.Tags {
		if id == commit && rootmodule.IsFixedRef(tag) && (len(tag) > len(version) || len(tag) == len(version) && tag > version) {
			version = tag
		}
	}
	return cmp.Or(version, commit), nil
}
