package actions

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/edit"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// ObjectRef names an object of a control plane.
type ObjectRef struct {
	Kind, Name string
	// Environment is the one on whose branch it is written; "" for the base. A DeploymentTarget of a Workload is
	// named "workload/target", is written on the base, and is for the environment.
	Environment string
}

func (o ObjectRef) isTarget() bool {
	return o.Kind == "DeploymentTarget" && strings.Contains(o.Name, "/")
}

// Branch returns the environment on whose branch the object is written; "" for the base.
func (o ObjectRef) Branch() string {
	if o.isTarget() {
		return ""
	}
	return o.Environment
}

// String returns the object as people write it.
func (o ObjectRef) String() string { return o.Kind + "/" + o.Name }

// CreateObject writes a new object of a kind of [edit.Kinds]. from is an environment whose deployment target is copied; ""
// for none.
func (d *Session) CreateObject(ctx context.Context, o ObjectRef, from string, values edit.Values, reason string) (Result, error) {
	return d.editBranch(ctx, o, change{action: createAction, title: "Create " + o.String(), reason: reason}, func(files tree.Tree, folder string) (string, []byte, error) {
		if workload, target, ok := strings.Cut(o.Name, "/"); ok && o.isTarget() {
			return edit.CreateTarget(files, edit.NewTarget{Workload: workload, Name: target, Environment: o.Environment, From: from, Values: values})
		}
		return edit.Create(files, folder, edit.KindRow(o.Kind), o.Name, values)
	})
}

// SetValues sets values of an object.
func (d *Session) SetValues(ctx context.Context, o ObjectRef, settings []edit.Setting, reason string) (Result, error) {
	return d.editBranch(ctx, o, change{action: setAction, title: "Change " + o.String(), reason: reason}, func(files tree.Tree, _ string) (string, []byte, error) {
		return edit.Set(files, o.Kind, o.Name, o.Environment, settings)
	})
}

// DeleteObject deletes an object.
func (d *Session) DeleteObject(ctx context.Context, o ObjectRef, reason string) (Result, error) {
	c := change{action: deleteAction, title: "Delete " + o.String(), reason: reason}
	if o.Kind == "Environment" {
		return d.editFiles(ctx, o, c, func(files tree.Tree, _ string) (map[string][]byte, error) {
			return edit.DeleteEnvironment(files, o.Name)
		})
	}
	return d.editBranch(ctx, o, c, func(files tree.Tree, _ string) (string, []byte, error) {
		return edit.Delete(files, o.Kind, o.Name, o.Environment)
	})
}

// ListObjects returns the names of the objects of a kind where an object of it would be written.
func (d *Session) ListObjects(ctx context.Context, o ObjectRef) ([]string, error) {
	v, err := d.readSnapshot(ctx, o.Branch())
	if err != nil {
		return nil, err
	}
	repo, head, _ := v.place()
	return git.InspectTree(repo, head, func(files tree.Tree) ([]string, error) { return edit.ListNames(files, o.Kind, o.Environment), nil })
}

func (v snapshot) place() (repo *git.Repository, head, folder string) {
	if v.branch.Repo != nil {
		return v.branch.Repo, v.branch.Head, v.branch.Folder
	}
	return v.base.Repo, v.base.Head, ""
}

func (d *Session) editBranch(ctx context.Context, o ObjectRef, c change, edit func(files tree.Tree, folder string) (string, []byte, error)) (Result, error) {
	return d.editFiles(ctx, o, c, func(files tree.Tree, folder string) (map[string][]byte, error) {
		file, text, err := edit(files, folder)
		return map[string][]byte{file: text}, err
	})
}

// editFiles makes an edit of the branch of an object, and says what it means. An edit that makes the control plane worse is
// refused.
func (d *Session) editFiles(ctx context.Context, o ObjectRef, c change, edit func(files tree.Tree, folder string) (map[string][]byte, error)) (Result, error) {
	c.environment, c.part, c.name = o.Branch(), o.String(), o.Name
	return d.perform(ctx, o.Branch(), func(v snapshot) (change, error) {
		c := c
		repo, head, folder := v.place()
		if repo == nil {
			return c, problem.Refusef("", "the base is a folder, in which nothing is committed")
		}
		var err error
		c.files, err = git.InspectTree(repo, head, func(files tree.Tree) (map[string][]byte, error) { return edit(files, folder) })
		if err != nil {
			return c, err
		}
		c.summary = fmt.Sprintf("%s is %s in %s", o, map[string]string{createAction: "created", setAction: "changed", deleteAction: "deleted"}[c.action], firstFile(c.files))
		return examineEdit(ctx, d, v, c, o.String()+" has these values already")
	})
}

func examineEdit(ctx context.Context, d *Session, v snapshot, c change, unchanged string) (change, error) {
	id, err := d.draftEdit(ctx, v, c.files)
	if err != nil {
		return c, err
	}
	dr := draft{base: id}
	if v.branch.Repo != nil {
		dr = draft{environment: c.environment, commit: id}
	}
	if _, head, _ := v.place(); id == head {
		c.files, c.summary = nil, unchanged
		return c, nil
	}
	x, err := d.examine(ctx, v, dr)
	x.describe(&c)
	return c, err
}

// draftEdit stores the commit with changed files, without writing it to its branch.
func (d *Session) draftEdit(ctx context.Context, v snapshot, files map[string][]byte) (string, error) {
	_, head, _ := v.place()
	url := d.options.ControlPlane
	if v.branch.Repo != nil {
		url = v.branch.URL
	}
	remote, _ := d.findRemote(url)
	if remote == nil {
		return "", fmt.Errorf("the repository %s was not read", url)
	}
	e := publish.Edit{Head: head, Files: files, Message: "A draft\n", When: d.options.Now()}
	return e.Draft(ctx, publish.Options{Remote: remote, Author: d.options.Author})
}

func firstFile(files map[string][]byte) string {
	first := ""
	for file := range files {
		if first == "" || file < first {
			first = file
		}
	}
	return first
}

// CreateEnvironment makes an environment as a copy of another one: first its branch, which nothing reads, and then its file
// and its place in the order of promotion on the base, in one commit.
func (d *Session) CreateEnvironment(ctx context.Context, e edit.NewEnvironment, reason string) (Result, error) {
	return d.perform(ctx, "", func(v snapshot) (change, error) {
		c := change{
			action: createAction, name: e.Name, part: "Environment/" + e.Name, reason: reason,
			title: "Create Environment/" + e.Name, summary: fmt.Sprintf("the environment %s is a copy of %s", e.Name, e.From),
		}
		from, err := d.source.Branch(ctx, e.From)
		switch {
		case err != nil:
			return c, err
		case from.Repo == nil:
			return c, problem.Refusef("fairlead check says why", "the branch of %s cannot be read", e.From)
		case from.Repo != v.base.Repo:
			return c, problem.Refusef("make it by hand", "the branch of %s is in another repository than the base", e.From)
		}
		made, err := git.InspectTrees(v.base.Repo, []string{v.base.Head, from.Head}, func(trees []tree.Tree) (edit.EnvironmentFiles, error) {
			return edit.CreateEnvironment(trees[0], trees[1], e)
		})
		if err != nil {
			return c, err
		}
		c.notes, c.files = made.Notes, made.Base
		c.newBranch, err = newBranchEdit(from, e.Name, made.Branch)
		if err != nil {
			return c, err
		}
		return c, d.examineEnvironment(ctx, v, e.Name, &c)
	})
}

// examineEnvironment examines a change that makes an environment. Its branch may be there from an attempt that was interrupted.
func (d *Session) examineEnvironment(ctx context.Context, v snapshot, name string, c *change) error {
	remote, _ := d.findRemote(d.options.ControlPlane)
	o := publish.Options{Remote: remote, Author: d.options.Author}
	c.newBranch.When, c.newBranch.Message = d.options.Now(), c.commitMessage()
	commit, err := c.newBranch.Draft(ctx, o)
	if err != nil {
		return err
	}
	present, err := v.base.Repo.FindBranch(name)
	if err != nil {
		return err
	}
	if present != "" {
		is, err := v.base.Repo.Commit(present)
		if err != nil {
			return err
		}
		wanted, err := v.base.Repo.Commit(commit)
		if err != nil {
			return err
		}
		if is.Tree != wanted.Tree {
			return problem.Refusef("take another name, or remove the branch", "the control plane has a branch %s already", name)
		}
		c.newBranch = nil
	}
	base, err := d.draftEdit(ctx, v, c.files)
	if err != nil {
		return err
	}
	x, err := d.examine(ctx, v, draft{base: base, environment: name, commit: commit})
	x.describe(c)
	return err
}

// newBranchEdit returns the edit that makes the branch of an environment of another one: approvals, holds and the like are
// left out; decisions are not.
func newBranchEdit(from source.Branch, name string, files map[string][]byte) (*publish.Edit, error) {
	e := &publish.Edit{Branch: name, IsNew: true, Head: from.Head, Files: files}
	own := path.Join(from.Folder, source.OwnFolder)
	written, err := git.InspectTree(from.Repo, from.Head, func(files tree.Tree) ([]string, error) {
		var found []string
		for file := range files.Sub(own).Walk() {
			if ext := path.Ext(file); ext == ".yaml" || ext == ".yml" {
				found = append(found, path.Join(own, file))
			}
		}
		return found, nil
	})
	for _, file := range written {
		if !strings.HasPrefix(file, path.Join(from.Folder, model.DecisionFolder)+"/") {
			e.Files[file] = nil
		}
	}
	return e, err
}
