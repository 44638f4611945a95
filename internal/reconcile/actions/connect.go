package actions

import (
	"context"
	"errors"
	"path"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
)

// ConnectionFolder returns the folder of the GitOps repository for what a cluster needs to report, below
// that of its environment. What begins with a dot is no output, and stays as people write it.
func ConnectionFolder(environment, cluster string) string {
	return path.Join(environment, source.OwnFolder, "connect", cluster)
}

// OutputOf returns where the output of an environment goes; it is an error if it goes nowhere.
func (d *Session) OutputOf(ctx context.Context, environment string) (*model.GitOpsRepo, error) {
	to, err := d.source.OutputOf(ctx, environment)
	if err == nil && to == nil {
		err = problem.Refusef("add a GitOpsRepo to the environment's branch", "it is not known where the output of %s goes", environment)
	}
	return to, err
}

// FindAttachment returns how the management cluster applies the folder of its cluster type to a cluster that
// an environment provisions; "" for the object if it does not.
func (d *Session) FindAttachment(ctx context.Context, environment, cluster string) (clusterfiles.Attached, error) {
	m, problems, err := d.source.LoadModel(ctx, environment, source.Revisions{})
	if err != nil {
		return clusterfiles.Attached{}, err
	}
	if m == nil {
		return clusterfiles.Attached{}, refuseUnread(environment, problems)
	}
	return clusterfiles.FindAttachment(m, cluster), nil
}

// ProposeConnection opens a pull request for the output branch of an environment, with files that a
// cluster needs to report.
func (d *Session) ProposeConnection(ctx context.Context, environment, cluster string, files map[string][]byte) (Result, error) {
	to, err := d.OutputOf(ctx, environment)
	if err != nil {
		return Result{}, err
	}
	remote, err := d.options.Mirrors.Fetch(ctx, giturl.Relocate(to.Repo, d.options.Map))
	if err != nil {
		return Result{}, err
	}
	head, err := remote.Mirror().Branch(to.Branch)
	if errors.Is(err, git.ErrNoRevision) {
		return Result{}, problem.Refusef("create the branch first, or print the objects without --pr", "%s has no branch %s", giturl.Redact(to.Repo), to.Branch)
	}
	if err != nil {
		return Result{}, err
	}
	folder := ConnectionFolder(publish.CleanFolder(to.Path), cluster)
	c := change{
		action: connectAction, name: cluster, title: "Connect cluster " + cluster, files: map[string][]byte{},
		summary: "cluster " + cluster + " has in " + folder + " what it needs to report",
	}
	for name, text := range files {
		c.files[path.Join(folder, name)] = text
	}
	o := publish.Options{Remote: remote, Author: d.options.Author, Sign: d.options.Sign, Write: true, BeforeEffect: d.options.BeforeEffect}
	e := publish.Edit{Branch: to.Branch, Head: head, Files: c.files, Message: c.commitMessage()}
	r := Result{Action: c.action, Environment: environment, Name: cluster, Summary: c.summary, Branch: to.Branch}
	return d.proposeChange(ctx, o, e, c, r, giturl.Relocate(to.Repo, d.options.Map))
}
