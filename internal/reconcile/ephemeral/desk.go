package ephemeral

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/gitname"
	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// Options say where the control plane is, and who works in it.
type Options struct {
	// ControlPlane is a URL or a path, BaseBranch that of the base ("" for main), and
	// Map other places of repositories, by URL.
	ControlPlane, BaseBranch string
	Map                      map[string]string
	Mirrors                  *repos.Mirrors // opens the repositories
	Author                   git.Signature
	Now                      func() time.Time
}

// Client creates, extends, removes and lists ephemeral environments. It may not be used
// concurrently.
type Client struct {
	options Options
	source  *source.Source
	remote  *git.Remote // the control plane
}

// Open reads the control plane.
func Open(ctx context.Context, o Options) (*Client, error) {
	read, err := source.Open(ctx, source.Options{
		ControlPlane: o.ControlPlane, BaseBranch: o.BaseBranch, Map: o.Map, Open: o.Mirrors.Open, Parser: model.NewParser(),
	})
	return &Client{options: o, source: read, remote: o.Mirrors.Known(giturl.Relocate(o.ControlPlane, o.Map))}, err
}

// HasEnvironments reports whether there may be environments in the repository: if not, it is hardly a
// control plane.
func (d *Client) HasEnvironments(ctx context.Context) (bool, error) {
	all, problems, err := d.source.Environments(ctx)
	return len(all) > 0 || problems.Stops(), err
}

// Result is what an operation has done.
type Result struct {
	Name string `json:"name"`
	// Says is that in a sentence, without a full stop.
	Says    string    `json:"says"`
	Expires time.Time `json:"expires,omitzero"`
	Output  string    `json:"output,omitempty"`
	Branch  string    `json:"branch"` // of the control plane
	Commit  string    `json:"commit,omitempty"`
}

// Creation is what an ephemeral environment is to be.
type Creation struct {
	Name, From string
	TTL        time.Duration
	// ClusterTypes are those that it has; all of From if nothing is asked for.
	ClusterTypes model.Selector
	// Stacks are those of From that it has copies of, as "team/environment".
	Stacks []string
	// AllStacks adds all stacks of From.
	AllStacks bool
	// MaxComponents bounds how many components its stacks have in total; 0 is no bound.
	MaxComponents uint
	// Base is a revision of the base; "" for what From has.
	Base string
}

// Create makes an ephemeral environment.
func (d *Client) Create(ctx context.Context, c Creation) (Result, error) {
	from, err := d.checkCreation(ctx, c)
	if err == nil {
		err = d.checkStacks(ctx, &c)
	}
	if err != nil {
		return Result{}, err
	}
	branch, err := d.source.Branch(ctx, from.Name)
	if err != nil {
		return Result{}, err
	}
	if branch.Repo == nil {
		return Result{}, problem.Refusef("", "branch %s, which is that of environment %s, cannot be read", branch.Name, from.Name)
	}
	to, files, err := d.changedFiles(ctx, c, branch)
	if err != nil {
		return Result{}, err
	}
	expires := d.options.Now().Add(c.TTL).UTC().Truncate(time.Second)
	files[source.EphemeralFile], err = encodeEphemeral(c.Name, c.From, expires, c.ClusterTypes, c.Stacks)
	if err == nil {
		err = checkReadable(c.Name, files[source.EphemeralFile])
	}
	if err != nil {
		return Result{}, err
	}
	r := Result{
		Name: c.Name, Branch: source.EphemeralBranches + c.Name, Expires: expires, Output: to,
		Says: fmt.Sprintf("%s is a copy of %s until %s; its output goes to %s", c.Name, c.From, timestamp(expires), to),
	}
	r.Commit, err = d.pushBranch(ctx, branch, r.Branch, files, commitMessage(fmt.Sprintf("Make the ephemeral environment %s from %s", c.Name, c.From)))
	if errors.Is(err, git.ErrStale) {
		return Result{}, errTaken(c.Name)
	}
	return r, err
}

func errTaken(name string) error {
	return problem.Refusef("take another name, or fairlead ephemeral extend it", "there is an ephemeral environment %s already", name)
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func commitMessage(title string) string { return title + "\n\n" + removalTrailer + "\n" }

const removalTrailer = "Fairlead-Action: ephemeral"

// checkCreation refuses what cannot be made, and returns the environment that it is made from.
func (d *Client) checkCreation(ctx context.Context, c Creation) (*model.Environment, error) {
	if !kubename.IsDNSLabel(c.Name) {
		return nil, newMisuse("lower case letters, digits and hyphens, at most 63, as in pr-7", "%q cannot be the name of an environment", c.Name)
	}
	if err := gitname.CheckEnvironment(c.Name); err != nil {
		return nil, newMisuse("give it another name, as pr-7", "%v", err)
	}
	if err := checkTime(c.TTL, d.options.Now().Add(c.TTL), d.options.Now()); err != nil {
		return nil, err
	}
	lasting, _, err := d.source.Environments(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(lasting))
	for i, e := range lasting {
		names[i] = e.Name
	}
	if slices.Contains(names, c.Name) {
		return nil, problem.Refusef("take another name", "there is an environment %s", c.Name)
	}
	i := slices.Index(names, c.From)
	if i < 0 {
		hint := problem.DidYouMean(c.From, names)
		if hint == "" && len(names) > 0 {
			hint = "the environments are " + strings.Join(names, ", ")
		}
		return nil, newMisuse(hint, "there is no environment %s", c.From)
	}
	own, err := d.source.InControlPlane(ctx, lasting[i])
	if err == nil && !own {
		err = problem.Refusef("", "the branch of environment %s is in another repository than the control plane", c.From)
	}
	if err != nil {
		return nil, err
	}
	switch e, err := d.source.Ephemeral(ctx, c.Name); {
	case err != nil:
		return nil, err
	case e != nil:
		return nil, errTaken(c.Name)
	}
	if _, err := d.remote.Mirror().Branch(strings.TrimSuffix(source.EphemeralBranches, "/")); err == nil {
		return nil, problem.Refusef("rename or remove it", "the control plane has a branch ephemeral, and Git has no branch beside it that begins with ephemeral/")
	}
	return lasting[i], nil
}

// changedFiles returns the files that differ from the branch that it is made from, and where
// the output goes.
func (d *Client) changedFiles(ctx context.Context, c Creation, branch source.Branch) (output string, files map[string][]byte, err error) {
	to, err := d.source.OutputOf(ctx, c.From)
	if err != nil {
		return "", nil, err
	}
	if to == nil {
		return "", nil, problem.Refusef("an object of kind GitOpsRepo there says it", "the branch of %s does not say where the output goes", c.From)
	}
	e, _, err := branch.Repo.FindEntry(branch.Head, to.Pos.File)
	if err != nil {
		return "", nil, err
	}
	place, folder := OutputLocation(c.Name, c.From, to.RepoRef, giturl.Normalize(giturl.Relocate(to.Repo, d.options.Map)) == giturl.Normalize(giturl.Relocate(d.options.ControlPlane, d.options.Map)))
	files = map[string][]byte{}
	files[to.Pos.File], err = withOutput(e.Data, place, folder)
	if err != nil {
		return "", nil, problem.Refusef("write the GitOpsRepo in a file of its own", "%s: %v", to.Pos.File, err)
	}
	if c.Base != "" {
		var base map[string][]byte
		base, err = d.setBase(ctx, c.Base, branch)
		maps.Copy(files, base)
	}
	return locationName(place, folder), files, err
}

func locationName(branch, folder string) string {
	folder = publish.CleanFolder(folder)
	if folder != "" {
		return branch + ", folder " + folder
	}
	return branch
}

func (d *Client) setBase(ctx context.Context, revision string, branch source.Branch) (map[string][]byte, error) {
	base, err := d.source.Base(ctx)
	if err != nil {
		return nil, err
	}
	commit, err := base.Repo.Resolve(revision)
	if err != nil {
		return nil, err
	}
	on, err := base.Repo.Contains(base.Head, commit)
	if err != nil {
		return nil, err
	}
	if !on {
		return nil, problem.Refusef("have it merged to the base first", "commit %.12s is not on the base's branch", commit)
	}
	return branch.SetBase(lane.Composition{Platform: commit}, model.Lanes{}, branch.URL, base.Branch)
}

// checkReadable refuses an Ephemeral that cannot be parsed.
func checkReadable(name string, data []byte) error {
	only := tree.FromEntries([]tree.Entry{tree.File(path.Base(source.EphemeralFile), data)})
	said := model.NewParser().Progress(name, model.Layer{Kind: model.Env, Name: name, Files: only, Prefix: source.OwnFolder})
	if said.Problems.Stops() {
		return newMisuse(said.Problems[0].Hint, "%s", said.Problems[0].Summary)
	}
	return nil
}

// pushBranch makes the branch, in one push. Approvals, holds and
// the like of the other branch are left out; its decisions and lanes are not.
func (d *Client) pushBranch(ctx context.Context, from source.Branch, branch string, files map[string][]byte, message string) (string, error) {
	view, err := from.Repo.View(from.Head)
	if err != nil {
		return "", err
	}
	own := path.Join(from.Folder, source.OwnFolder) + "/"
	var b tree.Builder
	for file, e := range view.Tree.Walk() {
		isObject := slices.Contains([]string{".yaml", ".yml"}, path.Ext(file)) // the schema for editors is none
		isDecision := strings.HasPrefix(file, path.Join(from.Folder, model.DecisionFolder)+"/")
		isLanes := file == source.LanesFile(from.Folder)
		if _, other := files[file]; other || isObject && !isDecision && !isLanes && strings.HasPrefix(file, own) {
			continue
		}
		if err := b.AddEntry(file, e); err != nil {
			return "", err
		}
	}
	for file, data := range files {
		if data == nil { // it is left out
			continue
		}
		if err := b.Add(file, data); err != nil {
			return "", err
		}
	}
	if err := view.Err(); err != nil {
		return "", err
	}
	pack, err := d.remote.Write(ctx, git.Commit{
		Tree: b.Tree(), Parents: []string{from.Head}, Author: d.options.Author, When: d.options.Now(), Message: message, Known: []tree.Tree{view.Tree},
	})
	if err != nil {
		return "", err
	}
	return pack.Commits[0], d.remote.Push(ctx, pack, git.RefUpdate{Ref: heads + branch, New: pack.Commits[0]})
}

const heads = "refs/heads/"

// Extend lets an ephemeral environment live longer than it would have.
func (d *Client) Extend(ctx context.Context, name string, ttl time.Duration) (Result, error) {
	return d.changeExpiry(ctx, name, func(e *source.Ephemeral) (time.Time, Result, error) {
		now := d.options.Now()
		until := slices.MaxFunc([]time.Time{now, e.Spec.Expires}, time.Time.Compare).Add(ttl).UTC().Truncate(time.Second)
		return until, Result{Says: fmt.Sprintf("%s lives until %s", name, timestamp(until)), Expires: until}, checkTime(ttl, until, now)
	})
}

// Remove ends an ephemeral environment now: the daemon removes what it has written for
// it, and then its branch. One that cannot be read is a branch only, and goes at once.
func (d *Client) Remove(ctx context.Context, name string) (Result, error) {
	e, err := d.source.Ephemeral(ctx, name)
	if err == nil && e != nil && !e.Settled() {
		r := Result{Name: name, Branch: e.Branch, Says: fmt.Sprintf("the branch %s is gone; it was no environment", e.Branch)}
		return r, d.remote.Push(ctx, nil, git.RefUpdate{Ref: heads + e.Branch, Old: e.Head})
	}
	if err != nil {
		return Result{}, err
	}
	return d.changeExpiry(ctx, name, func(e *source.Ephemeral) (time.Time, Result, error) {
		now := d.options.Now().UTC().Truncate(time.Second)
		end := slices.MinFunc([]time.Time{e.Spec.Expires, now}, time.Time.Compare)
		return end, Result{Says: name + " is over; the daemon removes its output, and then its branch", Expires: end}, nil
	})
}

// maxRounds bounds how often a change begins anew because another process was faster.
const maxRounds = 5

func (d *Client) changeExpiry(ctx context.Context, name string, decide func(*source.Ephemeral) (time.Time, Result, error)) (Result, error) {
	for range maxRounds {
		e, err := d.source.Ephemeral(ctx, name)
		if err != nil {
			return Result{}, err
		}
		if e == nil || e.Spec == nil {
			return Result{}, newMisuse("fairlead ephemeral list names them", "there is no ephemeral environment %s", name)
		}
		until, r, err := decide(e)
		if err != nil {
			return Result{}, err
		}
		r.Name, r.Branch = name, e.Branch
		r.Commit, err = d.commitExpiry(ctx, e, until, r.Says)
		if !errors.Is(err, git.ErrStale) {
			return r, err
		}
		if err := d.source.Refresh(ctx); err != nil {
			return Result{}, err
		}
	}
	return Result{}, problem.Refusef("try again", "the branch moved while this was written, %d times in a row", maxRounds)
}

func (d *Client) commitExpiry(ctx context.Context, e *source.Ephemeral, until time.Time, title string) (string, error) {
	file, _, err := d.remote.Mirror().FindEntry(e.Head, source.EphemeralFile)
	if err != nil {
		return "", err
	}
	data := file.Data
	if !until.Equal(e.Spec.Expires) {
		data, err = withExpires(file.Data, until)
		if err != nil {
			return "", err
		}
	}
	return publish.Apply(ctx, publish.Options{Remote: d.remote, Author: d.options.Author, Write: true}, publish.Edit{
		Branch: e.Branch, Head: e.Head, Files: map[string][]byte{source.EphemeralFile: data}, Message: commitMessage(forge.OneLine(title, 200)), When: d.options.Now(),
	})
}

// Item is an ephemeral environment in a list.
type Item struct {
	Name    string    `json:"name"`
	From    string    `json:"from,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	Output  string    `json:"output,omitempty"`
	// State is what a daemon says of it; "" if none was asked.
	State    string       `json:"state,omitempty"`
	Problems problem.List `json:"problems,omitempty"`
}

// List returns all of them, sorted by name, and what is wrong with branches that should be
// one.
func (d *Client) List(ctx context.Context) ([]Item, problem.List, error) {
	all, problems, err := d.source.Ephemerals(ctx)
	if err != nil {
		return nil, nil, err
	}
	items := make([]Item, len(all))
	for i, e := range all {
		items[i] = Item{Name: e.Name, Problems: e.Problems}
		if e.Spec != nil {
			items[i].From, items[i].Expires = e.Spec.From, e.Spec.Expires
		}
		if !e.Settled() {
			continue
		}
		to, err := d.source.OutputOf(ctx, e.Name)
		if err != nil {
			return nil, nil, err
		}
		if to != nil {
			items[i].Output = locationName(to.Branch, to.Path)
		}
	}
	return items, problems, nil
}
