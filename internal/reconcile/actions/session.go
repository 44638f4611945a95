// Package actions performs what operators do by hand: promote, hold, release, roll back, approve,
// freeze, renew the key of a cluster.
//
// What the package keeps true: every action is one commit in the control plane, by the person who
// performs it, with a reason and trailers that name the action, so that it can be reviewed,
// attributed and reverted, and works without the daemon; it is decided from what the branch holds
// when it is pushed, and decided again if someone else pushed first; what would break the order of
// promotion is refused with a reason, and what was forced is recorded.
package actions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/registry"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// Options are the control plane of the actions, and who performs them.
type Options struct {
	// ControlPlane is a URL or a path, BaseBranch that of the base ("" for main), Map other
	// locations of repositories, by URL, and Next the order of environments where none is written.
	ControlPlane, BaseBranch string
	Map, Next                map[string]string
	Mirrors                  *repos.Mirrors   // opens the repositories
	Registries               *registry.Client // nil if the settings are not known
	Rendering                render.Options   // as the daemon renders
	// Forge opens the forge of a repository, to propose changes as pull requests; nil pushes them
	// directly.
	Forge func(remote *git.Remote, place string) (forge.Forge, error)
	// Statuses opens the forge whose statuses record which commits of the base were verified; nil if nothing can.
	Statuses func(remote *git.Remote, place string) (forge.Forge, error)
	Prefix   string // of the branches of pull requests
	Author   git.Signature
	// Committer commits for the author; the zero value is the author.
	Committer git.Signature
	Sign      git.Signer // nil for none
	// Trailers are lines for the end of each message.
	Trailers []string
	// Confirm is called with each change before it is written; its error stops that. nil disables it.
	Confirm func(context.Context, Plan) error
	Now     func() time.Time
	// BeforeEffect is called before each side effect; nil disables it.
	BeforeEffect func(what string)
}

// Session performs actions on one control plane, one at a time.
type Session struct {
	options Options
	source  *source.Source
	stale   bool // what was read is to be read again
	// forge opens what has the statuses of commits, and statuses are those that were read.
	forge    func() (forge.StatusReader, error)
	statuses map[string][]forge.CommitStatus
}

// Open reads the control plane.
func Open(ctx context.Context, o Options) (*Session, error) {
	read, err := source.Open(ctx, source.Options{
		ControlPlane: o.ControlPlane, BaseBranch: o.BaseBranch, Map: o.Map, Open: o.Mirrors.Open, Registries: o.Registries, Parser: model.NewParser(), Rendering: o.Rendering,
	})
	d := &Session{options: o, source: read}
	d.forge = sync.OnceValues(d.openStatuses)
	return d, err
}

// Environments returns the names of the environments, in the order of promotion.
func (d *Session) Environments(ctx context.Context) ([]string, error) {
	found, _, err := d.source.Environments(ctx)
	if err != nil {
		return nil, err
	}
	base, err := d.source.Base(ctx)
	if err != nil {
		return nil, err
	}
	chain, _ := model.NewChain(base.Progress, found, nil) // problems with it are reported where it matters
	return chain.SortNames(list.Convert(found, func(e *model.Environment) string { return e.Name })), nil
}

// Predecessors returns the environments in which a commit has to be verified before it is promoted to another one,
// directly or by way of others, in the order of promotion.
func (d *Session) Predecessors(ctx context.Context, environment string) ([]string, error) {
	base, err := d.source.Base(ctx)
	if err != nil {
		return nil, err
	}
	chain, _ := model.NewChain(base.Progress, base.Environments, d.options.Next) // problems with it are reported where it matters
	all := []string{environment}
	for i := 0; i < len(all); i++ {
		stage := chain.Stage(all[i])
		if stage == nil {
			continue
		}
		for _, name := range stage.After {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return chain.SortNames(all[1:]), nil
}

// OutputFolders returns the folders of the output of an environment that a cluster may apply: those of its cluster types,
// sorted, and of its stacks and clusters, if it has any. own is the one of a cluster of a type; "" if it
// has to be listed first.
func (d *Session) OutputFolders(ctx context.Context, environment, cluster, clusterType string) (folders []string, own string, err error) {
	m, problems, err := d.source.LoadModel(ctx, environment, source.Revisions{})
	if err != nil {
		return nil, "", err
	}
	if m == nil {
		return nil, "", refuseUnread(environment, problems)
	}
	own = m.FolderOf(cluster, clusterType)
	if own == clusterType && slices.ContainsFunc(m.ClusterTypes, func(t *model.ClusterType) bool { return t.Type == clusterType }) {
		own = ""
	}
	folders = list.Convert(m.ClusterTypes, func(t *model.ClusterType) string { return t.Name })
	if len(m.Stacks.List) > 0 {
		folders = append(folders, stackfiles.ObjectsFolder)
	}
	if len(m.Clusters.Manifests) > 0 {
		folders = append(folders, clusterfiles.Folder)
	}
	return folders, own, nil
}

func refuseUnread(environment string, problems problem.List) error {
	wrong, _ := problems.Count()
	return problem.Refusef("fairlead check names them", "%s has %s", environment, text.Count(wrong, "problem"))
}

// IsEphemeral reports whether there is an ephemeral environment of that name.
func (d *Session) IsEphemeral(ctx context.Context, name string) (bool, error) {
	e, err := d.source.Ephemeral(ctx, name)
	return e != nil, err
}

// findRemote returns the repository that a URL of the control plane names. One that was not opened
// is the control plane itself under another URL.
func (d *Session) findRemote(url string) (*git.Remote, string) {
	for _, u := range []string{url, d.options.ControlPlane} {
		place := giturl.Relocate(u, d.options.Map)
		if known := d.options.Mirrors.Known(place); known != nil {
			return known, place
		}
	}
	return nil, ""
}

type snapshot struct {
	base         source.Base
	history      promote.Line
	chain        model.Chain
	orderProblem string // why nothing can be said about the order; "" if something can
	stage        model.Stage
	branch       source.Branch // of the environment
}

func (d *Session) readSnapshot(ctx context.Context, environment string) (snapshot, error) {
	var v snapshot
	var err error
	v.base, err = d.source.Base(ctx)
	if err != nil {
		return v, err
	}
	var problems problem.List
	v.chain, problems = model.NewChain(v.base.Progress, v.base.Environments, d.options.Next)
	if p, stops := append(problems, v.base.Progress.Problems...).Sorted().FirstStopping(); stops {
		v.orderProblem = p.String()
	}
	if environment == "" {
		v.history, err = promoter.ReadHistory(v.base)
		return v, err
	}
	v.stage = model.Stage{Name: environment}
	if s := v.chain.Stage(environment); s != nil {
		v.stage = *s
	}
	v.branch, err = d.source.Branch(ctx, environment)
	if err != nil {
		return v, err
	}
	if v.branch.Repo == nil {
		return v, fmt.Errorf("branch %s of %s, which is that of environment %s, cannot be read", v.branch.Name, giturl.Redact(v.branch.URL), environment)
	}
	present, err := v.currentCommit()
	if err == nil {
		v.history, err = promoter.ReadHistory(v.base, present)
	}
	return v, err
}

// currentCommit returns the commit that the environment has, as it is written if the base does not
// have it.
func (v snapshot) currentCommit() (string, error) {
	if v.branch.Commit == "" {
		return "", nil
	}
	commit, err := v.base.Repo.Resolve(v.branch.Commit)
	if errors.Is(err, git.ErrNoRevision) {
		return v.branch.Commit, nil
	}
	return commit, err
}

// Result is the outcome of an action.
type Result struct {
	Action      string `json:"action"`
	Environment string `json:"environment,omitempty"`
	Name        string `json:"name,omitempty"` // of a freeze, a cluster, or an object
	// Summary is one sentence, without a full stop.
	Summary string `json:"says"`
	// Changed is false if nothing had to change, or the pull request was declined.
	Changed bool   `json:"changed"`
	From    string `json:"from,omitempty"` // commits of the base
	To      string `json:"to,omitempty"`
	// Base is what the environment gets; zero if it gets nothing.
	Base   lane.Composition `json:"-"`
	Branch string           `json:"branch"`
	// Commit is the one that was made on Branch; "" if there is a pull request instead.
	Commit string `json:"commit,omitempty"`
	Pull   *Pull  `json:"pull,omitempty"`
	// Output is how far the output has got with To; nil if it was not asked for.
	Output *Output `json:"output,omitempty"`
	// Notes are sentences about how To was chosen, and what it changes, without full stops.
	Notes []string `json:"notes,omitempty"`
	// Forced are the refusals that were overridden.
	Forced []string `json:"forced,omitempty"`
}

// Pull is a pull request that a person has to merge.
type Pull struct {
	Number int         `json:"number"`
	URL    string      `json:"url,omitempty"`
	State  forge.State `json:"state"`
}

// ErrForcible means that an operator can insist.
var ErrForcible = errors.New("force overrides it")

// refreshStale reads the control plane again, unless nothing was decided on what was read.
func (d *Session) refreshStale(ctx context.Context) error {
	if !d.stale {
		d.stale = true
		return nil
	}
	return d.source.Refresh(ctx)
}

// maxAttempts bounds how often an action is decided again because someone else pushed first.
const maxAttempts = 5

// perform decides an action on the current state and writes it, again if someone else pushed first.
func (d *Session) perform(ctx context.Context, environment string, decide func(v snapshot) (change, error)) (Result, error) {
	for range maxAttempts {
		if err := d.refreshStale(ctx); err != nil {
			return Result{}, err
		}
		v, err := d.readSnapshot(ctx, environment)
		if err != nil {
			return Result{}, err
		}
		c, err := decide(v)
		if err != nil {
			return Result{}, err
		}
		r, err := d.writeChange(ctx, v, c)
		if !errors.Is(err, git.ErrStale) {
			return r, err
		}
	}
	return Result{}, problem.Refusef("try again", "the branch moved while this was written, %d times in a row", maxAttempts)
}

func (d *Session) writeChange(ctx context.Context, v snapshot, c change) (Result, error) {
	url, branch, head := v.branch.URL, v.branch.Name, v.branch.Head
	if v.branch.Repo == nil {
		url, branch, head = d.options.ControlPlane, v.base.Branch, v.base.Head
	}
	r := Result{
		Action: c.action, Environment: c.environment, Name: c.name, Summary: c.summary, From: c.from, To: c.to, Base: c.base, Branch: branch, Forced: c.overridden,
		Notes: c.notes,
	}
	c.trailers = append(c.trailers, d.options.Trailers...)
	if d.options.Confirm != nil {
		p, err := v.newPlan(r, c, url, head)
		if err == nil {
			err = d.options.Confirm(ctx, p)
		}
		if err != nil {
			return r, err
		}
	}
	if len(c.files) == 0 {
		return r, nil
	}
	remote, place := d.findRemote(url)
	if remote == nil {
		return Result{}, fmt.Errorf("the repository %s was not read", giturl.Redact(url))
	}
	o := publish.Options{Remote: remote, Author: d.options.Author, Through: d.options.Committer, Sign: d.options.Sign, Write: true, BeforeEffect: d.options.BeforeEffect}
	if c.newBranch != nil {
		c.newBranch.Message = c.commitMessage()
		if _, err := publish.Apply(ctx, o, *c.newBranch); err != nil {
			return Result{}, err
		}
	}
	e := publish.Edit{Branch: branch, Head: head, Files: c.files, Message: c.commitMessage(), When: d.options.Now()}
	if d.options.Forge != nil {
		return d.proposeChange(ctx, o, e, c, r, place)
	}
	id, err := publish.Apply(ctx, o, e)
	if err == nil && id != head {
		r.Changed, r.Commit = true, id
	}
	return r, err
}

// proposeChange opens a pull request with a change. Its commit is as old as its parent, so that
// repeating the action changes nothing.
func (d *Session) proposeChange(ctx context.Context, o publish.Options, e publish.Edit, c change, r Result, place string) (Result, error) {
	var err error
	o.Forge, err = d.options.Forge(o.Remote, place)
	if err != nil {
		return r, err
	}
	info, err := o.Remote.Mirror().Commit(e.Head)
	if err != nil {
		return r, err
	}
	e.When = info.When
	p, err := e.Propose(ctx, o, forge.Proposal{
		Mark: c.action + " " + c.subject(), Head: d.options.Prefix + forge.ChangeBranches + c.action + "/" + c.subject(), Base: e.Branch, Title: forge.FitTitle(c.title), Body: c.pullRequestBody(),
	})
	if err == nil && p.Number != 0 {
		r.Changed, r.Pull = p.State == forge.Open, &Pull{p.Number, p.URL, p.State}
	}
	return r, err
}
