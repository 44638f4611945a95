package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// ReadAt returns the input of an environment, at the revisions that the control plane
// names or at others.
func (s *Source) ReadAt(ctx context.Context, env string, at Revisions) (Input, problem.List, error) {
	r, err := s.readInput(ctx, env, at)
	if err == nil && r.failures != nil {
		err = &UnreachableError{err: errors.Join(r.failures...)}
	}
	if err != nil {
		return Input{}, nil, err
	}
	return r.newInput(), r.problems.Sorted().Capped(maxProblems), nil
}

// readInput is ReadAt, but for the repositories that cannot be reached: they are in the reading.
func (s *Source) readInput(ctx context.Context, env string, at Revisions) (*reading, error) {
	r := &reading{source: s, env: env, at: at}
	return r, r.readLayers(ctx)
}

func (r *reading) readLayers(ctx context.Context) error {
	s := r.source
	if r.at.Base == "" {
		r.at.Base = s.options.Base
	}
	if r.at.Environment == "" {
		r.at.Environment = s.options.EnvironmentRevision
	}
	if err := r.readEnvironment(ctx); err != nil {
		return err
	}
	if r.layers == nil { // there is nothing that could point to the rest
		return nil
	}
	if err := r.readBase(ctx); err != nil {
		return err
	}
	if err := r.readWorkloads(ctx); err != nil {
		return err
	}
	if err := r.readStacks(ctx); err != nil {
		return err
	}
	return r.readTemplates(ctx)
}

type reading struct {
	source       *Source
	env          string
	at           Revisions
	ephemeral    *Ephemeral // nil if the environment is there to stay
	layers       []model.Layer
	commits      []Commit
	problems     problem.List
	failures     []error           // of repositories that cannot be reached
	unreachable  problem.List      // the objects that name those
	lacksBase    bool              // one of those is a part of the base, or the environment's
	recordFolder string            // the folder of the environment, if its record is there and not loaded
	recordHidden bool              // it is
	mainBase     string            // the name of the BaseRepo that is promoted
	lanes        *model.LaneRecord // of the environment; nil if none are written
	releases     []*model.Release  // likewise
	pins         []*model.Pin      // likewise
	notRead      []NotRead
}

func (r *reading) newInput() Input {
	return Input{Environment: r.env, Layers: r.layers, Commits: r.commits, Ephemeral: r.ephemeral}
}

func (r *reading) readEnvironment(ctx context.Context) error {
	layer := model.Layer{Kind: model.Env, Name: r.env}
	if r.source.options.EnvironmentDir != "" {
		return r.addFolder(layer, r.source.options.EnvironmentDir)
	}
	all, problems, err := r.source.Environments(ctx)
	if err != nil {
		return err
	}
	r.problems = append(r.problems, attributeProblems(problems, all, r.env)...)
	if !slices.ContainsFunc(all, func(e *model.Environment) bool { return e.Name == r.env }) {
		r.ephemeral, err = r.source.Ephemeral(ctx, r.env)
		if err != nil {
			return err
		}
	}
	if e := r.ephemeral; e != nil {
		r.problems = append(r.problems, e.Problems...)
		if !e.Settled() {
			return nil
		}
		all = []*model.Environment{e.asEnvironment()}
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Name)
		if e.Name != r.env {
			continue
		}
		ref := e.ControlPlane
		ref.Commit = r.at.Environment
		err := r.addRepository(ctx, layer, ref, &e.Object, r.at.Environment != "")
		if r.ephemeral == nil && r.layers != nil { // an Ephemeral here came by a merge, and the rest of its branch with it
			for _, o := range r.source.options.Parser.Progress(r.env, r.layers[0]).Ephemerals {
				r.problems.Addf(o.Pos, o.Subject(), "remove it, and look at what else came with it: where the output goes, and spec.commit of the BaseRepo",
					"only a branch %s%s may have it, and this is that of %s", EphemeralBranches, o.Name, r.env)
			}
		}
		return err
	}
	hint := problem.DidYouMean(r.env, names)
	if hint == "" && names != nil {
		hint = "the environments are " + strings.Join(names, ", ")
	}
	r.problems.Addf(problem.Pos{Layer: "base", File: ".environments"}, "Environment/"+r.env, hint, "there is no such environment")
	return nil
}

// attributeProblems returns problems of the files with the environments, as they are for
// one of them: what is wrong with another environment, or with a file that this one is not
// in, does not stop it.
func attributeProblems(problems problem.List, all []*model.Environment, env string) problem.List {
	i := slices.IndexFunc(all, func(e *model.Environment) bool { return e.Name == env })
	mine := slices.Clone(problems)
	for n, p := range mine {
		name, named := strings.CutPrefix(p.Subject, "Environment/")
		if named && name != "" {
			mine[n].Warning = p.Warning || name != env
		} else if i >= 0 {
			mine[n].Warning = p.Warning || p.Pos.File != all[i].Pos.File
		}
	}
	return mine
}

func (r *reading) readBase(ctx context.Context) error {
	found := r.scanLayers()
	main := mainBaseRepo(found.BaseRepos)
	if r.source.options.BaseDir != "" {
		name := "main"
		for _, b := range found.BaseRepos {
			if b == main {
				name = b.Name
				continue
			}
			r.problems.Warnf(b.Pos, b.Subject(), "", "it is not read: --base-dir stands for %s", main.Subject())
		}
		return r.addFolder(model.Layer{Kind: model.Base, Name: name}, r.source.options.BaseDir)
	}
	if main == nil && r.recordHidden {
		r.problems = append(r.problems, hiddenRecordProblem(r.env, r.recordFolder)...)
	}
	if main == nil {
		r.problems.Warnf(problem.Pos{Layer: r.env}, "Environment/"+r.env, "nothing has been promoted to it yet",
			"the environment has no BaseRepo; the head of the base is used")
		commit, err := r.source.baseCommit(r.at.Base)
		if err != nil {
			return err
		}
		lanes, err := r.findLanes(r.source.controlPlane, r.at.Base != "")
		if err != nil {
			return err
		}
		return r.addCommit(model.Layer{Kind: model.Base, Name: "main"}, r.source.controlPlane, r.source.options.ControlPlane, commit, "", nil, lanes)
	}
	r.mainBase = main.Name
	for _, b := range found.BaseRepos {
		ref := b.RepoRef
		asked := b == main && r.at.Base != ""
		if asked {
			ref.Commit = r.at.Base
		}
		if err := r.addRepository(ctx, model.Layer{Kind: model.Base, Name: b.Name}, ref, &b.Object, asked); err != nil {
			return err
		}
	}
	return nil
}

// mainBaseRepo returns the BaseRepo that is promoted: the one named main, or else the
// first by name; nil if there are none.
func mainBaseRepo(repos []*model.BaseRepo) *model.BaseRepo {
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

func (r *reading) scanLayers() model.References {
	var all model.References
	for _, l := range r.layers {
		f := r.source.options.Parser.Scan(r.newInput().parsedName(), l)
		all.BaseRepos = append(all.BaseRepos, f.BaseRepos...)
		all.Registrations = append(all.Registrations, f.Registrations...)
	}
	return all
}

func (r *reading) readWorkloads(ctx context.Context) error {
	registrations := r.scanLayers().Registrations
	r.reportUnknownFolders(registrations)
	return readEach(r, registrations, func(part *reading, registration *model.Registration) error {
		return part.readRegistration(ctx, registration)
	})
}

func readEach[T any](r *reading, all []T, read func(part *reading, one T) error) error {
	parts := make([]reading, len(all))
	errs := make([]error, len(all))
	parallel.Each(maxParallel, all, func(i int, one T) {
		parts[i] = reading{source: r.source, env: r.env, at: r.at, releases: r.releases, pins: r.pins}
		errs[i] = read(&parts[i], one)
	})
	for i := range parts {
		r.layers = append(r.layers, parts[i].layers...)
		r.commits = append(r.commits, parts[i].commits...)
		r.problems = append(r.problems, parts[i].problems...)
		r.failures = append(r.failures, parts[i].failures...)
		r.unreachable = append(r.unreachable, parts[i].unreachable...)
		r.notRead = append(r.notRead, parts[i].notRead...)
	}
	return errors.Join(errs...)
}

// maxParallel bounds how many repositories are read at a time.
const maxParallel = 8

func (r *reading) readRegistration(ctx context.Context, registration *model.Registration) error {
	layer := model.Layer{Kind: model.Workloads, Name: registration.Name}
	if dir, ok := r.source.options.Workloads[registration.Name]; ok {
		return r.addFolder(layer, dir)
	}
	if registration.Workload.Repo == "" { // the model says so
		return nil
	}
	if r.source.controlPlane == nil && !r.source.repositories.isMapped(registration.Workload.Repo) {
		r.problems.Warnf(registration.Pos, registration.Subject(),
			fmt.Sprintf("say --workload %s=DIR, or --map %s=PATH", registration.Name, registration.Workload.Repo),
			"its workloads are left out: there is no folder for them")
		return nil
	}
	ref := registration.Workload
	ref.Commit = r.at.Workloads[registration.Name]
	if by, commit := r.findPin(registration.Name); ref.Commit == "" && by != nil {
		return r.addPinned(ctx, layer, ref, by, commit)
	}
	return r.addRepository(ctx, layer, ref, &registration.Object, ref.Commit != "")
}

func (r *reading) reportUnknownFolders(registrations []*model.Registration) {
	var names []string
	for _, registration := range registrations {
		names = append(names, registration.Name)
	}
	for name := range r.source.options.Workloads {
		if !slices.Contains(names, name) {
			r.problems.Addf(problem.Pos{}, "WorkloadRegistration/"+name, problem.DidYouMean(name, names),
				"--workload names a registration that environment %s does not have", r.env)
		}
	}
}

func (r *reading) addFolder(layer model.Layer, dir string) error {
	files, err := ReadFolder(dir)
	if err != nil {
		return err
	}
	r.commits = append(r.commits, Commit{Layer: layerName(layer), Folder: dir})
	loaded, err := FilterLayer(layer.Kind, files)
	if r.refusesPatterns(layer, err) {
		return nil
	}
	r.recordHidden = r.recordHidden || layer.Kind == model.Env && hidesRecord(files, loaded)
	r.addLayer(layer, loaded, "")
	if layer.Kind == model.Env {
		r.addDecisions(files.Sub(model.DecisionFolder), "")
		r.addPins(files.Sub(model.PinsFolder), "")
		if e, isWritten := files.Lookup(LanesFile("")); isWritten && !e.IsDir() {
			content, err := tree.FromFiles(map[string][]byte{LanesFile(""): e.Data})
			if err != nil {
				return err
			}
			r.addLanes(r.source.parseLaneRecord(r.env, "", content))
		}
	}
	return nil
}

func (r *reading) refusesPatterns(layer model.Layer, err error) bool {
	var many *TooManyPatterns
	if !errors.As(err, &many) {
		return false
	}
	r.problems.Addf(problem.Pos{Layer: layerName(layer), File: many.File, Line: 1}, "", "name folders and files, which costs nothing, or write fewer patterns", "%s", many.Error())
	return true
}

// addRepository adds a layer from what an object points to. asked says that the
// revision is the caller's: one that is not there is an error then, and not a
// mistake of the object.
func (r *reading) addRepository(ctx context.Context, layer model.Layer, ref model.RepoRef, by *model.Object, asked bool) error {
	refuse := func(hint, format string, args ...any) error {
		r.problems.Addf(by.Pos, by.Subject(), hint, format, args...)
		return nil
	}
	partOfControlPlane := layer.Kind == model.Base || layer.Kind == model.Env
	repo, err := r.source.repositories.openRepository(ctx, ref.Repo, partOfControlPlane)
	if err != nil {
		r.lacksBase = r.lacksBase || partOfControlPlane && isUnreachable(ctx, err) && !r.source.options.ReportUnreachable
		return r.reportUnopened(ctx, ref.Repo, by, err)
	}
	revision, resolve := ref.Commit, repo.Resolve
	if revision != "" && !asked && !IsCommit(revision) {
		return refuse("write the id of a commit, 40 hexadecimal digits or the beginning of them; a branch is spec.branch",
			"spec.commit is %q, which is not the id of a commit", revision)
	}
	if revision == "" {
		revision, resolve = ref.Branch, repo.Branch
	}
	if revision == "" && layer.Kind == model.TeamStacks {
		revision = repo.DefaultBranch()
	}
	if revision == "" && layer.Kind == model.TeamStacks {
		reason, advice := describeMissing(repo, giturl.Redact(ref.Repo), stack.HeadRef)
		return refuse(advice, "%s", reason)
	}
	if revision == "" {
		return refuse("write the name of one", "it names no branch")
	}
	commit, err := resolve(revision)
	if errors.Is(err, git.ErrNoRevision) && !asked {
		reason, advice := describeMissing(repo, giturl.Redact(ref.Repo), revision)
		if layer.Kind == model.Base && ref.Commit != "" && repo.FetchCommand() == "" && !isClone(repo) {
			advice = fmt.Sprintf("if %[1]s was rewritten, push the commit back to %[1]s, or fairlead rollback %[2]s --to COMMIT --reason REASON", cmp.Or(ref.Branch, "its branch"), r.env)
		}
		return refuse(advice, "%s", reason)
	}
	if errors.Is(err, git.ErrNoRevision) {
		return &UnknownRevisionError{err}
	}
	if err != nil {
		return err
	}
	var lanes Lanes
	if layer.Kind == model.Base && by.Name == r.mainBase {
		lanes, err = r.findLanes(repo, asked)
		if err != nil {
			return err
		}
	}
	return r.addCommit(layer, repo, ref.Repo, commit, ref.Path, by, lanes)
}

// addCommit adds a layer from a commit, with parts of it from others. by is the object that names
// the path; nil if it is the root.
func (r *reading) addCommit(layer model.Layer, repo *git.Repository, url, commit, sub string, by *model.Object, lanes Lanes) error {
	clean := path.Clean("/" + sub)[1:]
	files, err := r.source.readFolder(r.env, layer, repo, commit, clean, lanes)
	if r.refusesPatterns(layer, err) || r.refusesLanes(err) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := repo.Commit(commit)
	if err != nil {
		return err
	}
	r.commits = append(r.commits, Commit{Layer: layerName(layer), Repo: giturl.Redact(url), Commit: commit, Lanes: lanes.Commits, When: info.When})
	if files.IsEmpty() && clean != "" && layer.Kind == model.TeamStacks {
		removed, err := findRemoval(repo, commit, clean)
		if err != nil {
			return err
		}
		if removed != "" {
			r.problems.Warnf(by.Pos, by.Subject(), "restore the folder, or mend the path", "%s has no folder %q since commit %s: the stacks in it were deleted", giturl.Redact(url), sub, removed)
			r.addLayer(layer, files, clean)
			return nil
		}
	}
	if files.IsEmpty() && clean != "" {
		r.problems.Addf(by.Pos, by.Subject(), "mend the path, or the branch", "%s has no folder %q at commit %s", giturl.Redact(url), sub, commit)
		return nil
	}
	if layer.Kind == model.Env {
		r.recordFolder = clean
		r.recordHidden, err = git.InspectTree(repo, commit, func(t tree.Tree) (bool, error) { return hidesRecord(t.Sub(clean), files), nil })
		if err != nil {
			return err
		}
	}
	r.addLayer(layer, files, clean)
	if layer.Kind == model.Env {
		decisions, err := r.source.readOwnFolder(repo, commit, clean, model.DecisionFolder, model.Decisions)
		if err != nil {
			return err
		}
		r.addDecisions(decisions, clean)
		pins, err := r.source.readOwnFolder(repo, commit, clean, model.PinsFolder, model.Env)
		if err != nil {
			return err
		}
		r.addPins(pins, clean)
		record, problems, err := r.source.readLaneRecord(r.env, repo, commit, clean)
		if err != nil {
			return err
		}
		r.addLanes(record, problems)
	}
	return nil
}

func (s *Source) readFolder(env string, layer model.Layer, repo *git.Repository, commit, sub string, lanes Lanes) (tree.Tree, error) {
	key := env + " " + layerName(layer)
	s.mu.Lock()
	before := s.previous.layers[key]
	s.mu.Unlock()
	t, err := s.readOnce(commitFolder{repo: repo, commit: commit, sub: sub, kind: layer.Kind, lanes: lanes.key()}, func() (tree.Tree, error) {
		t, err := lanes.composeFiles(repo, commit, func(file string, _ int64) bool { return path.Base(file) == ignoreFile })
		if err != nil {
			return tree.Tree{}, err
		}
		kept, err := FilterLayer(layer.Kind, t)
		if err != nil {
			return tree.Tree{}, err
		}
		return repo.LoadFiles(kept.Sub(sub), before, isContentWanted)
	})
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.current.layers[key] = t
	}
	return t, err
}

func (s *Source) readOnce(f commitFolder, read func() (tree.Tree, error)) (tree.Tree, error) {
	s.mu.Lock()
	known, ok := s.current.folders[f]
	if !ok {
		known, ok = s.previous.folders[f]
		if ok {
			s.current.folders[f] = known
		}
	}
	s.mu.Unlock()
	if ok {
		return known, nil
	}
	t, err := read()
	if err != nil {
		return tree.Tree{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current.folders[f] = t
	return t, nil
}

func (r *reading) addLayer(layer model.Layer, files tree.Tree, prefix string) {
	layer.Files, layer.Prefix = files, prefix
	r.reportLinks(layer)
	r.layers = append(r.layers, layer)
}

func layerName(l model.Layer) string {
	if l.Kind == model.Base {
		return "base"
	}
	return l.Name
}
