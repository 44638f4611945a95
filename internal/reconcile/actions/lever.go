// Package actions is what people do to promotions by hand: promote, hold, release, roll
// back, approve, freeze.
//
// What the package keeps true: whatever is done is one commit in the control plane, by
// the person who does it, with a reason and with trailers that say what it was, so that
// it can be reviewed, attributed and reverted, and works without the daemon; it is
// decided from what the branch holds when it is pushed, and if somebody was faster it is
// decided anew; what would break the order of promotion is refused with a reason, and
// what was forced says so for good.
package actions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// Options say where the levers are, and who pulls them.
type Options struct {
	// ControlPlane is a URL or a path, BaseBranch that of the base ("" for main), Map
	// other places of repositories, by URL, and Next the order of environments where
	// nobody has written one.
	ControlPlane, BaseBranch string
	Map, Next                map[string]string
	Mirrors                  *repos.Mirrors // opens the repositories
	// Forge gives the forge of a place, to propose what is done; nil to do it at once.
	Forge  func(remote *git.Remote, place string) (forge.Forge, error)
	Prefix string // of the branches of pull requests
	Author git.Signature
	Sign   git.Signer // nil for none
	Now    func() time.Time
	// Step is told before each thing that changes the world; nil for nobody.
	Step func(what string)
}

// Desk is where the levers of a control plane are. One is pulled at a time.
type Desk struct {
	Options
	source *source.Source
	old    bool // what was read is to be read again

	places map[string]string // by normalized URL
}

// Open reads the control plane.
func Open(ctx context.Context, o Options) (*Desk, error) {
	d := &Desk{Options: o, places: map[string]string{}}
	for url, place := range o.Map {
		d.places[giturl.Normalize(url)] = place
	}
	var err error
	d.source, err = source.Open(ctx, source.Options{
		ControlPlane: o.ControlPlane, BaseBranch: o.BaseBranch, Map: o.Map, Open: d.Mirrors.Open, Parser: model.NewParser(),
	})
	return d, err
}

// Environments gives the names of the environments, sorted.
func (d *Desk) Environments(ctx context.Context) ([]string, error) {
	found, _, err := d.source.Environments(ctx)
	names := make([]string, len(found))
	for i, e := range found {
		names[i] = e.Name
	}
	return names, err
}

// remoteOf gives the repository that a URL of the control plane names: one that was not
// opened is the control plane itself under another URL.
func (d *Desk) remoteOf(url string) (*git.Remote, string) {
	for _, u := range []string{url, d.ControlPlane} {
		place := u
		if other, ok := d.places[giturl.Normalize(u)]; ok {
			place = other
		}
		if known := d.Mirrors.Known(place); known != nil {
			return known, place
		}
	}
	return nil, ""
}

// view is what a lever is pulled in view of.
type view struct {
	base    source.Base
	history promote.History
	chain   model.Chain
	broken  string // why nothing can be said about the order; "" if something can
	stage   model.Stage
	branch  source.Branch // of the environment
}

// look reads what there is now.
func (d *Desk) look(ctx context.Context, environment string) (view, error) {
	var v view
	var err error
	if v.base, err = d.source.Base(ctx); err != nil {
		return v, err
	}
	order, problems := model.NewChain(v.base.Progress, v.base.Environments, d.Next)
	if problems = append(problems, v.base.Progress.Problems...).Sorted(); problems.Stops() {
		v.broken = problems[0].String()
	}
	v.chain = order
	if environment == "" {
		v.history, err = promoter.ReadHistory(v.base)
		return v, err
	}
	if v.stage = (model.Stage{Name: environment}); order.Stage(environment) != nil {
		v.stage = *order.Stage(environment)
	}
	if v.branch, err = d.source.Branch(ctx, environment); err != nil {
		return v, err
	}
	if v.branch.Repo == nil {
		return v, fmt.Errorf("branch %s of %s, which is that of environment %s, cannot be read", v.branch.Name, giturl.Redact(v.branch.URL), environment)
	}
	present, err := v.present()
	if err == nil {
		v.history, err = promoter.ReadHistory(v.base, present)
	}
	return v, err
}

// present gives the commit that the environment has, and as it is written if the base
// does not have it.
func (v view) present() (string, error) {
	if v.branch.Commit == "" {
		return "", nil
	}
	commit, err := v.base.Repo.Resolve(v.branch.Commit)
	if errors.Is(err, git.ErrNoRevision) {
		return v.branch.Commit, nil
	}
	return commit, err
}

// Newer gives the commit that an environment has, if that is another one than a revision
// of the base and comes after it; "" if it does not, or the base has no such revision.
func (d *Desk) Newer(ctx context.Context, environment, revision string) (string, error) {
	if d.old {
		if err := d.source.Refresh(ctx); err != nil {
			return "", err
		}
	}
	d.old = true
	var v view
	var err error
	if v.base, err = d.source.Base(ctx); err != nil {
		return "", err
	}
	if v.branch, err = d.source.Branch(ctx, environment); err != nil || v.branch.Repo == nil {
		return "", err
	}
	has, err := v.present()
	if err != nil || has == "" {
		return "", err
	}
	commit, err := v.base.Repo.Resolve(revision)
	if errors.Is(err, git.ErrNoRevision) {
		return "", nil
	}
	if err != nil || commit == has || !source.IsCommit(has) {
		return "", err
	}
	if after, err := v.base.Repo.Contains(has, commit); err != nil || !after {
		return "", err
	}
	return has, nil
}

// Result says what a lever has done.
type Result struct {
	Lever       string `json:"lever"`
	Environment string `json:"environment,omitempty"`
	Name        string `json:"name,omitempty"` // of a freeze
	// Says is that in a sentence, without a full stop.
	Says string `json:"says"`
	// Changed is false if all was so already, or somebody has declined it.
	Changed bool   `json:"changed"`
	From    string `json:"from,omitempty"` // commits of the base
	To      string `json:"to,omitempty"`
	Branch  string `json:"branch"`
	// Commit is the one that was made on Branch; "" if there is a pull request instead.
	Commit string `json:"commit,omitempty"`
	Pull   *Pull  `json:"pull,omitempty"`
	// Output is how far the output has got with To; nil if it was not looked for.
	Output *Output `json:"output,omitempty"`
	// Forced are the refusals that were overridden.
	Forced []string `json:"forced,omitempty"`
}

// Pull is a pull request that somebody has to merge.
type Pull struct {
	Number int         `json:"number"`
	URL    string      `json:"url,omitempty"`
	State  forge.State `json:"state"`
}

// errForcible means that an operator can insist.
var errForcible = errors.New("force overrides it")

// maxRounds bounds how often it is decided anew because somebody was faster.
const maxRounds = 5

// pull does what decide says, in view of what there is. decide is asked again if
// somebody was faster.
func (d *Desk) pull(ctx context.Context, environment string, decide func(v view) (change, error)) (Result, error) {
	for range maxRounds {
		if d.old {
			if err := d.source.Refresh(ctx); err != nil {
				return Result{}, err
			}
		}
		d.old = true
		v, err := d.look(ctx, environment)
		if err != nil {
			return Result{}, err
		}
		c, err := decide(v)
		if err != nil {
			return Result{}, err
		}
		r, err := d.put(ctx, v, c)
		if !errors.Is(err, git.ErrStale) {
			return r, err
		}
	}
	return Result{}, problem.Refusef("try again", "somebody else was faster, %d times in a row", maxRounds)
}

// put writes a change to the environment's branch, or that of the base.
func (d *Desk) put(ctx context.Context, v view, c change) (Result, error) {
	url, branch, head := v.branch.URL, v.branch.Name, v.branch.Head
	if v.branch.Repo == nil {
		url, branch, head = d.ControlPlane, v.base.Branch, v.base.Head
	}
	r := c.result(branch)
	if len(c.files) == 0 {
		return r, nil
	}
	remote, place := d.remoteOf(url)
	if remote == nil {
		return Result{}, fmt.Errorf("the repository %s was not read", giturl.Redact(url))
	}
	o := publish.Options{Remote: remote, Author: d.Author, Sign: d.Sign, Write: true, BeforeEffect: d.Step}
	e := publish.Edit{Branch: branch, Head: head, Files: c.files, Message: c.message(), When: d.Now()}
	if d.Forge != nil {
		return d.propose(ctx, o, e, c, r, place)
	}
	id, err := publish.Apply(ctx, o, e)
	if err == nil && id != head {
		r.Changed, r.Commit = true, id
	}
	return r, err
}

// propose opens a pull request with a change. Its commit is as old as what it is made
// on, so that to do it twice is to do it once.
func (d *Desk) propose(ctx context.Context, o publish.Options, e publish.Edit, c change, r Result, place string) (Result, error) {
	var err error
	if o.Forge, err = d.Forge(o.Remote, place); err != nil {
		return r, err
	}
	info, err := o.Remote.Mirror().Commit(e.Head)
	if err != nil {
		return r, err
	}
	e.When = info.When
	p, err := e.Propose(ctx, o, forge.Proposal{
		Mark: c.mark(), Head: d.Prefix + "lever/" + c.lever + "/" + c.of(), Base: e.Branch, Title: forge.FitTitle(c.title), Body: c.body(),
	})
	if err == nil && p.Number != 0 {
		r.Changed, r.Pull = p.State == forge.Open, &Pull{p.Number, p.URL, p.State}
	}
	return r, err
}
