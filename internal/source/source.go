// Package source finds the exact input of an environment: which commit of which
// repository each of its layers is, and the files of it.
//
// A control plane is a Git repository, local or remote, in which the environments
// name their own branch, the environment's BaseRepo names the commit of the base,
// and registrations name the repositories of workloads. Any of them can be read
// elsewhere: a repository by a map of URLs, a layer from a plain folder.
//
// What the package keeps true: an [Input] is named by commits (or folders), so that
// reading it again gives the same layers; what Flux would not load is left out; a
// mistake in the control plane (no such branch, path or repository) is a problem at
// the object that names it, and all of them are found in one run, while an
// operation that failed is an error.
package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/model"
	"github.com/fairlead-io/fairlead/internal/problem"
	"github.com/fairlead-io/fairlead/internal/tree"
)

// Options says where the control plane is.
type Options struct {
	// ControlPlane is a local repository or a URL; "" if all layers are folders.
	ControlPlane string
	// Base is the revision of the base; "" for what the environment's BaseRepo
	// says, and for the branch main where there is none.
	Base string
	// EnvironmentRevision is the revision of the environment's branch; "" for its
	// head.
	EnvironmentRevision string
	// BaseDir and EnvironmentDir are folders to read instead; Workloads are
	// folders by the name of the registration.
	BaseDir, EnvironmentDir string
	Workloads               map[string]string
	// Map has other places for repositories, by URL.
	Map map[string]string
	// CacheDir holds the mirrors of remotes.
	CacheDir string
	// Token is sent to the host of the control plane, and to no other.
	Token git.Token
	// Parser is the one that the layers will be parsed with.
	Parser *model.Parser
}

// Revisions are other commits than the control plane names; "" for those that it
// names.
type Revisions struct{ Base, Environment string }

// Input is what an environment is rendered from.
type Input struct {
	Environment string
	Layers      []model.Layer
	Commits     []Commit
}

// Commit is where a layer came from: its repository and commit, or its folder.
type Commit struct {
	Layer  string `json:"layer"` // "base", the environment, or a registration
	Repo   string `json:"repo,omitempty"`
	Commit string `json:"commit,omitempty"`
	Folder string `json:"folder,omitempty"`
}

// Source reads the environments of one control plane. It may be used
// concurrently.
type Source struct {
	options      Options
	repositories repositories
	controlPlane *git.Repository // nil if all layers are folders
}

// Open makes a Source. A remote control plane is fetched.
func Open(ctx context.Context, options Options) (*Source, error) {
	if options.CacheDir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			cache = os.TempDir()
		}
		options.CacheDir = filepath.Join(cache, "fairlead", "git")
	}
	s := &Source{options: options}
	s.repositories = repositories{cacheDir: options.CacheDir, token: options.Token, maps: normalized(options.Map), opened: map[string]*opening{}}
	s.repositories.tokenHost = git.Host(options.ControlPlane)
	if options.ControlPlane == "" {
		return s, nil
	}
	repo, err := s.repositories.open(ctx, options.ControlPlane, false)
	if err != nil {
		return nil, err
	}
	s.controlPlane = repo
	s.repositories.own(options.ControlPlane, repo)
	return s, nil
}

// environmentsFolder is where Kalypso has the environments. Flux reads it apart
// from the rest of the base.
const environmentsFolder = ".environments"

// Environments gives the environments of the control plane, sorted by name, and
// the problems of the files that they are written in: .environments of the base,
// or all of the base if there is no such folder.
func (s *Source) Environments(ctx context.Context) ([]*model.Environment, problem.List, error) {
	files, err := s.baseFiles(ctx, s.options.Base)
	if err != nil {
		return nil, nil, err
	}
	layer := model.Layer{Kind: model.Base, Name: "main", Files: files.Sub(environmentsFolder), Prefix: environmentsFolder}
	if layer.Files.IsEmpty() {
		layer.Files, layer.Prefix = Filter(files), ""
	}
	found := s.options.Parser.Scan("", layer)
	slices.SortFunc(found.Environments, func(a, b *model.Environment) int { return strings.Compare(a.Name, b.Name) })
	var problems problem.List
	if layer.Prefix != "" { // the rest of the base is reported when it is read
		problems = found.Problems
	}
	for i, e := range found.Environments {
		if i > 0 && e.Name == found.Environments[i-1].Name {
			problems.Addf(e.Pos, e.Subject(), "remove one of them", "there is another Environment of this name at %s", found.Environments[i-1].Pos)
		}
	}
	return found.Environments, problems, nil
}

// baseFiles gives the files of the base that the environments are found in.
func (s *Source) baseFiles(ctx context.Context, revision string) (tree.Tree, error) {
	if s.options.BaseDir != "" || s.controlPlane == nil {
		return Folder(s.options.BaseDir)
	}
	commit, err := s.baseCommit(revision)
	if err != nil {
		return tree.Tree{}, err
	}
	t, err := s.controlPlane.Tree(commit)
	if err != nil {
		return tree.Tree{}, err
	}
	return s.controlPlane.Load(t, wanted)
}

// baseCommit resolves a revision of the base; "" is the branch main, or else the
// default branch.
func (s *Source) baseCommit(revision string) (string, error) {
	if revision != "" {
		return s.controlPlane.Resolve(revision)
	}
	commit, err := s.controlPlane.Resolve("main")
	if errors.Is(err, git.ErrNoRevision) {
		if branch := s.controlPlane.DefaultBranch(); branch != "" {
			return s.controlPlane.Resolve(branch)
		}
	}
	return commit, err
}

// Read gives the input of an environment as the control plane names it.
func (s *Source) Read(ctx context.Context, env string) (Input, problem.List, error) {
	return s.ReadAt(ctx, env, Revisions{})
}

// ReadAt gives the input of an environment at other revisions.
func (s *Source) ReadAt(ctx context.Context, env string, at Revisions) (Input, problem.List, error) {
	r := &reading{Source: s, env: env, at: at}
	if r.at.Base == "" {
		r.at.Base = s.options.Base
	}
	if r.at.Environment == "" {
		r.at.Environment = s.options.EnvironmentRevision
	}
	if err := r.environment(ctx); err != nil {
		return Input{}, nil, err
	}
	if r.problems.Stops() {
		return r.input(), r.problems.Sorted(), nil
	}
	if err := r.base(ctx); err != nil {
		return Input{}, nil, err
	}
	if err := r.workloads(ctx); err != nil {
		return Input{}, nil, err
	}
	return r.input(), r.problems.Sorted(), nil
}

// reading is one call of ReadAt.
type reading struct {
	*Source
	env      string
	at       Revisions
	layers   []model.Layer
	commits  []Commit
	problems problem.List
}

func (r *reading) input() Input {
	return Input{Environment: r.env, Layers: r.layers, Commits: r.commits}
}

// environment reads the environment's own branch.
func (r *reading) environment(ctx context.Context) error {
	layer := model.Layer{Kind: model.Env, Name: r.env}
	if r.options.EnvironmentDir != "" {
		return r.folder(layer, r.options.EnvironmentDir)
	}
	all, problems, err := r.Environments(ctx)
	if err != nil {
		return err
	}
	r.problems = append(r.problems, problems...)
	var names []string
	for _, e := range all {
		names = append(names, e.Name)
		if e.Name != r.env {
			continue
		}
		ref := e.ControlPlane
		ref.Commit = r.at.Environment
		return r.repository(ctx, layer, ref, &e.Object)
	}
	hint := problem.DidYouMean(r.env, names)
	if hint == "" && names != nil {
		hint = "the environments are " + strings.Join(names, ", ")
	}
	r.problems.Addf(problem.Pos{Layer: "base", File: ".environments"}, "Environment/"+r.env, hint, "there is no such environment")
	return nil
}

// base reads what the environment's BaseRepos point to.
func (r *reading) base(ctx context.Context) error {
	found := r.found()
	main := mainOf(found.BaseRepos)
	if r.options.BaseDir != "" {
		name := "main"
		for _, b := range found.BaseRepos {
			if b == main {
				name = b.Name
				continue
			}
			r.problems.Warnf(b.Pos, b.Subject(), "", "it is not read: --base-dir stands for %s", main.Subject())
		}
		return r.folder(model.Layer{Kind: model.Base, Name: name}, r.options.BaseDir)
	}
	if main == nil {
		r.problems.Warnf(problem.Pos{Layer: r.env}, "Environment/"+r.env, "nothing has been promoted to it yet",
			"the environment has no BaseRepo; the head of the base is used")
		return r.unpromoted()
	}
	for _, b := range found.BaseRepos {
		ref := b.RepoRef
		if b == main && r.at.Base != "" {
			ref.Commit = r.at.Base
		}
		if err := r.repository(ctx, model.Layer{Kind: model.Base, Name: b.Name}, ref, &b.Object); err != nil {
			return err
		}
	}
	return nil
}

// mainOf gives the BaseRepo that is promoted: the one named main, or else the
// first by name; nil if there are none.
func mainOf(repos []*model.BaseRepo) *model.BaseRepo {
	var first *model.BaseRepo
	for _, b := range repos {
		if b.Name == "main" {
			return b
		}
		if first == nil || b.Name < first.Name {
			first = b
		}
	}
	return first
}

func (r *reading) unpromoted() error {
	commit, err := r.baseCommit(r.at.Base)
	if err != nil {
		return err
	}
	return r.commit(model.Layer{Kind: model.Base, Name: "main"}, r.controlPlane, r.options.ControlPlane, commit, "", nil)
}

// found gives what the layers that were read point to.
func (r *reading) found() model.Found {
	var all model.Found
	for _, l := range r.layers {
		f := r.options.Parser.Scan(r.env, l)
		all.BaseRepos = append(all.BaseRepos, f.BaseRepos...)
		all.Registrations = append(all.Registrations, f.Registrations...)
	}
	return all
}

// workloads reads the repositories of all registrations, several at a time.
func (r *reading) workloads(ctx context.Context) error {
	registrations := r.found().Registrations
	r.unknownFolders(registrations)
	parts := make([]reading, len(registrations))
	errs := make([]error, len(registrations))
	var wait sync.WaitGroup
	room := make(chan struct{}, maxParallel)
	for i, registration := range registrations {
		parts[i] = reading{Source: r.Source, env: r.env}
		wait.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			errs[i] = parts[i].registration(ctx, registration)
		})
	}
	wait.Wait()
	for i := range parts {
		r.layers = append(r.layers, parts[i].layers...)
		r.commits = append(r.commits, parts[i].commits...)
		r.problems = append(r.problems, parts[i].problems...)
	}
	return errors.Join(errs...)
}

// maxParallel bounds how many repositories are read at a time.
const maxParallel = 8

func (r *reading) registration(ctx context.Context, registration *model.Registration) error {
	layer := model.Layer{Kind: model.Workloads, Name: registration.Name}
	if dir, ok := r.options.Workloads[registration.Name]; ok {
		return r.folder(layer, dir)
	}
	if r.controlPlane == nil && !r.repositories.mapped(registration.Workload.Repo) {
		r.problems.Addf(registration.Pos, registration.Subject(),
			fmt.Sprintf("say --workload %s=DIR, or --map %s=PATH", registration.Name, registration.Workload.Repo),
			"its workloads are not read: there is no folder for them")
		return nil
	}
	return r.repository(ctx, layer, registration.Workload, &registration.Object)
}

// unknownFolders reports --workload folders for registrations that do not exist.
func (r *reading) unknownFolders(registrations []*model.Registration) {
	var names []string
	for _, registration := range registrations {
		names = append(names, registration.Name)
	}
	for name := range r.options.Workloads {
		if !slices.Contains(names, name) {
			r.problems.Addf(problem.Pos{}, "WorkloadRegistration/"+name, problem.DidYouMean(name, names),
				"--workload names a registration that environment %s does not have", r.env)
		}
	}
}

// folder adds a layer from a plain folder.
func (r *reading) folder(layer model.Layer, dir string) error {
	files, err := Folder(dir)
	if err != nil {
		return err
	}
	r.commits = append(r.commits, Commit{Layer: layerName(layer), Folder: dir})
	r.add(layer, Filter(files), "")
	return nil
}

// repository adds a layer from what an object points to.
func (r *reading) repository(ctx context.Context, layer model.Layer, ref model.RepoRef, by *model.Object) error {
	repo, err := r.repositories.open(ctx, ref.Repo, layer.Kind != model.Workloads)
	if errors.Is(err, git.ErrNotFound) {
		r.problems.Addf(by.Pos, by.Subject(), "check the URL, and that it may be read; --map reads it elsewhere", "there is no repository at %s", git.Redact(ref.Repo))
		return nil
	}
	if err != nil {
		return err
	}
	revision := ref.Commit
	if revision == "" {
		revision = ref.Branch
	}
	commit, err := repo.Resolve(revision)
	if errors.Is(err, git.ErrNoRevision) {
		r.problems.Addf(by.Pos, by.Subject(), "", "%s has no branch or commit %q", git.Redact(ref.Repo), revision)
		return nil
	}
	if err != nil {
		return err
	}
	return r.commit(layer, repo, ref.Repo, commit, ref.Path, by)
}

// commit adds a layer from a commit. by is the object that names the path.
func (r *reading) commit(layer model.Layer, repo *git.Repository, url, commit, sub string, by *model.Object) error {
	t, err := repo.Tree(commit)
	if err != nil {
		return err
	}
	t, err = repo.Load(t, func(file string, _ int64) bool { return path.Base(file) == ignoreFile })
	if err != nil {
		return err
	}
	files := Filter(t)
	r.commits = append(r.commits, Commit{Layer: layerName(layer), Repo: git.Redact(url), Commit: commit})
	clean := path.Clean("/" + sub)[1:]
	part, err := repo.Load(files.Sub(clean), wanted)
	if err != nil {
		return err
	}
	if part.IsEmpty() && clean != "" && by != nil {
		r.problems.Addf(by.Pos, by.Subject(), "", "%s has no folder %q at %s", git.Redact(url), sub, commit)
		return nil
	}
	r.add(layer, part, clean)
	return nil
}

// add adds a layer of the files below a prefix of their repository.
func (r *reading) add(layer model.Layer, files tree.Tree, prefix string) {
	layer.Files, layer.Prefix = files, prefix
	r.links(layer)
	r.layers = append(r.layers, layer)
}

// links reports symbolic links: Flux leaves them out, and one that leads out of the
// repository is a mistake, or worse.
func (r *reading) links(layer model.Layer) {
	for file, e := range layer.Files.Walk() {
		if e.Mode != tree.ModeSymlink {
			continue
		}
		pos := problem.Pos{Layer: layerName(layer), File: path.Join(layer.Prefix, file)}
		target := string(e.Data)
		if path.IsAbs(target) || strings.HasPrefix(path.Join(path.Dir(pos.File), target)+"/", "../") {
			r.problems.Addf(pos, "", "put the file itself there", "the symbolic link leads out of the repository, to %s", target)
			continue
		}
		r.problems.Warnf(pos, "", "put the file itself there", "symbolic links are not read, as in Flux")
	}
}

func layerName(l model.Layer) string {
	if l.Kind == model.Base {
		return "base"
	}
	return l.Name
}
