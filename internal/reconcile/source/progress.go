package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// OwnFolder is where Fairlead's own objects are written by its commands. It is read
// though Flux may be told to ignore it.
const OwnFolder = ".fairlead"

// PlanFile returns the file in which "fairlead approve-plan" writes the approval of a name, in the folder of
// an environment.
func PlanFile(folder, name string) string { return path.Join(folder, OwnFolder, "plans", name+".yaml") }

// Base is the head of the base's branch, and what it says about promotion. What is
// promoted has no say in that: it would take a promotion to stop one.
type Base struct {
	Repo         *git.Repository // nil if the base is a folder
	Head         string          // "" likewise
	Branch       string          // its name; "" likewise
	Environments []*model.Environment
	Progress     *model.Progress
	// Own are the files and folders of the base's own branch in which environments have
	// what was promoted to them, and what our commands write: it is their branch as well.
	Own []string
	// Feeds are those whose versions a lane promotes, sorted.
	Feeds []FeedSource
}

// HasFeeds reports whether a lane has feeds.
func (b Base) HasFeeds(lane string) bool {
	return slices.ContainsFunc(b.Feeds, func(f FeedSource) bool { return f.Lane == lane })
}

// Base reads what the base says about promotion now, once after each [Source.Refresh].
func (s *Source) Base(ctx context.Context) (Base, error) {
	read, err := loadOnce(&s.mu, &s.base, func() (*Base, error) { return s.readBase(ctx) })
	if err != nil {
		return Base{}, err
	}
	return *read, nil
}

func (s *Source) readBase(ctx context.Context) (*Base, error) {
	found, problems, err := s.Environments(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.baseFiles()
	if err != nil {
		return nil, err
	}
	files, err := promotionFiles(all)
	if err != nil {
		return nil, fmt.Errorf("read the base: %w", err)
	}
	layer := model.Layer{Kind: model.Base, Name: "promotion", Files: files}
	progress := s.options.Parser.Progress("", layer)
	// What cannot be read could have been a Promotion or a Freeze.
	unread := append(problems[:len(problems):len(problems)], s.options.Parser.Scan("", layer).Problems...)
	progress = withProblems(progress, unread)
	progress = withProblems(progress, append(checkUnread("base", "", all, progress), s.strayObjects(progress, found)...))
	progress = withProblems(progress, s.checkLanes(progress, all))
	feeds, ofFeeds := findFeeds(s, progress, all)
	progress = withProblems(progress, ofFeeds)
	b := &Base{Repo: s.controlPlane, Environments: found, Progress: progress, Feeds: feeds}
	if b.Repo != nil && s.options.BaseDir == "" {
		b.Branch = s.baseBranch()
		b.Head, err = s.baseCommit(s.options.Base)
		if err == nil {
			b.Own, err = s.ownOnBase(ctx, *b)
		}
	}
	return b, err
}

func (s *Source) ownOnBase(ctx context.Context, b Base) ([]string, error) {
	var own []string
	for _, e := range b.Environments {
		inside, err := s.InControlPlane(ctx, e)
		if err != nil {
			return nil, err
		}
		if !inside {
			continue
		}
		if head, err := s.controlPlane.Branch(e.ControlPlane.Branch); err != nil || head != b.Head {
			continue // what cannot be read is told where it is read
		}
		var branch Branch
		err = s.options.Barrier.Run("read the branch", e.Name, func() (err error) {
			branch, err = s.readBranch(ctx, e)
			return err
		})
		if panics.Is(err) {
			continue // likewise
		}
		if err != nil {
			return nil, err
		}
		own = append(own, branch.Record, path.Join(branch.Folder, OwnFolder))
	}
	slices.Sort(own)
	return slices.Compact(own), nil
}

func withProblems(p *model.Progress, more problem.List) *model.Progress {
	c := *p
	c.Problems = append(p.Problems[:len(p.Problems):len(p.Problems)], more...).Sorted()
	return &c
}

// promotionFiles returns the files that have to do with promotion: of a large base that
// is a few.
func promotionFiles(all tree.Tree) (tree.Tree, error) {
	var b tree.Builder
	for _, part := range []struct {
		folder string
		files  tree.Tree
	}{{"", Filter(all)}, {environmentsFolder, all.Sub(environmentsFolder)}, {OwnFolder, all.Sub(OwnFolder)}} {
		for file, e := range part.files.Walk() {
			again := part.folder == "" && (strings.HasPrefix(file, environmentsFolder+"/") || strings.HasPrefix(file, OwnFolder+"/"))
			ours := part.folder == OwnFolder || bytes.Contains(e.Data, []byte(model.OwnGroup+"/v"))
			if again || e.Mode == tree.ModeSymlink || !ours {
				continue
			}
			if err := b.AddEntry(path.Join(part.folder, file), e); err != nil {
				return tree.Tree{}, err
			}
		}
	}
	return b.Tree(), nil
}

// Branch is an environment's own branch, and what it says about promotion.
type Branch struct {
	Repo     *git.Repository // nil if it could not be read; the problem is told by Render
	URL      string          // as it is written
	Name     string
	Head     string
	When     time.Time // Head was committed
	Folder   string    // of the environment in it
	Progress *model.Progress
	// Record is the file that says which commit was promoted, and Commit that commit,
	// as it is written. The file need not be there.
	Record, Commit string
	// Lanes are those that have other commits; nil for none.
	Lanes *model.LaneRecord
}

// Branch reads an environment's own branch.
func (s *Source) Branch(ctx context.Context, env string) (Branch, error) {
	all, _, err := s.Environments(ctx)
	if err != nil {
		return Branch{}, err
	}
	for _, e := range all {
		if e.Name == env && s.options.EnvironmentDir == "" {
			return s.readBranch(ctx, e)
		}
	}
	e, err := s.Ephemeral(ctx, env)
	if err != nil || e == nil || !e.Settled() {
		return Branch{Progress: &model.Progress{}}, err
	}
	return s.readBranch(ctx, e.asEnvironment())
}

func (s *Source) readBranch(ctx context.Context, e *model.Environment) (Branch, error) {
	b := Branch{URL: e.ControlPlane.Repo, Name: e.ControlPlane.Branch, Folder: path.Clean("/" + e.ControlPlane.Path)[1:], Progress: &model.Progress{}}
	b.Record = path.Join(b.Folder, promote.RecordFile)
	repo, err := s.repositories.openRepository(ctx, e.ControlPlane.Repo, true)
	if err == nil {
		b.Head, err = s.findBranch(repo, e.ControlPlane.Branch)
	}
	if err == nil {
		b.Head, err = s.findNewestAt(repo, b.Head)
	}
	if errors.Is(err, git.ErrNotFound) || errors.Is(err, git.ErrAccess) || errors.Is(err, errLocal) || errors.Is(err, git.ErrNoRevision) {
		return b, nil
	}
	if err != nil {
		return b, err
	}
	b.Repo = repo
	info, err := repo.Commit(b.Head)
	if err != nil {
		return b, err
	}
	b.When = info.When
	files, err := s.readFolder(e.Name, model.Layer{Kind: model.Env, Name: e.Name}, repo, b.Head, b.Folder, Lanes{})
	if err != nil {
		return b, err
	}
	layer := model.Layer{Kind: model.Env, Name: e.Name, Files: files, Prefix: b.Folder}
	found := s.options.Parser.Scan(e.Name, layer)
	main := mainBaseRepo(found.BaseRepos)
	if main != nil {
		b.Record, b.Commit = main.Pos.File, main.Commit
	}
	own, err := s.readOnce(commitFolder{repo: repo, commit: b.Head, sub: b.Folder, promotion: true}, func() (tree.Tree, error) { return ownFiles(b, files) })
	if err != nil {
		return b, err
	}
	promotion := model.Layer{Kind: model.Env, Name: e.Name, Files: own, Prefix: b.Folder}
	b.Progress = withProblems(s.options.Parser.Progress(e.Name+" promotion", promotion), s.options.Parser.Scan(e.Name+" promotion", promotion).Problems)
	var ofLanes problem.List
	b.Lanes, ofLanes = findLaneRecord(b.Progress, b.Folder)
	b.Progress = withProblems(b.Progress, append(ofLanes, CheckPins(b.Progress, b.Folder)...))
	more, err := git.InspectTree(repo, b.Head, func(t tree.Tree) (problem.List, error) {
		whole := t.Sub(b.Folder)
		more := append(checkUnread(e.Name, b.Folder, whole, b.Progress), s.strayFreezes(b)...)
		if main == nil && hidesRecord(whole, files) {
			more = append(more, hiddenRecordProblem(e.Name, b.Folder)...)
		}
		above, err := s.strayAbove(ctx, e, b, t)
		return append(more, above...), err
	})
	if err != nil {
		return b, err
	}
	_, twice := b.Progress.ListClusters()
	b.Progress = withProblems(b.Progress, append(more, twice...))
	for _, p := range found.Problems { // a record that cannot be read is not an environment that has none
		if p.Pos.File == b.Record && !p.Warning {
			b.Progress = withProblems(b.Progress, problem.List{p})
		}
	}
	return b, nil
}

// ownFiles returns the files of a branch that have to do with promotion: also what our
// commands have written and Flux is told to ignore. files is what Flux would load.
func ownFiles(b Branch, files tree.Tree) (tree.Tree, error) {
	return git.InspectTree(b.Repo, b.Head, func(t tree.Tree) (tree.Tree, error) {
		entries := files.EntriesExcept(OwnFolder)
		written := tree.FromEntries(t.Sub(path.Join(b.Folder, OwnFolder)).Entries())
		if !written.IsEmpty() {
			entries = append(entries, tree.Dir(OwnFolder, written))
		}
		return promotionFiles(tree.FromEntries(entries))
	})
}

// CommitAt returns the commit that the record names at another head of the branch, as it is
// written; "" if it names none.
func (b Branch) CommitAt(head string) (string, error) {
	e, _, err := b.Repo.FindEntry(head, b.Record)
	if err != nil {
		return "", err
	}
	commit, err := promote.RecordedCommit(e.Data)
	if err != nil { // it is none that we have written
		return "", nil
	}
	return commit, nil
}

// SetBase returns what the files of the branch are to hold, by path, so that the environment has another base: a commit, which is
// in the control plane's repository as it is written there, and lanes that have commits of their own. nil removes a file.
func (b Branch) SetBase(base lane.Composition, lanes model.Lanes, repo, branch string) (map[string][]byte, error) {
	e, ok, err := b.Repo.FindEntry(b.Head, b.Record)
	if err != nil {
		return nil, err
	}
	text := promote.NewRecord(repo, branch, base.Platform)
	if ok {
		text, err = promote.SetCommit(e.Data, base.Platform)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Record, err)
	}
	files := map[string][]byte{b.Record: text}
	if len(base.Lanes) > 0 || b.Lanes != nil {
		files[LanesFile(b.Folder)] = nil
	}
	if len(base.Lanes) > 0 {
		files[LanesFile(b.Folder)], err = model.NewLaneRecord(lanes, base.Lanes)
	}
	return files, err
}

// AcknowledgedChanges returns what finds the changes of an environment's output that people have
// acknowledged: by an Approval on the environment's branch, or by an annotation of its
// GitOpsRepo.
func (s *Source) AcknowledgedChanges(ctx context.Context, r Rendered) func() ([]string, error) {
	return func() ([]string, error) {
		var changes []string
		if to := r.Model.OutputRepo(); to != nil {
			changes = strings.FieldsFunc(to.Annotations[model.AcknowledgeAnnotation], func(c rune) bool { return c == ',' || c == ' ' || c == '\n' })
		}
		branch, err := s.Branch(ctx, r.Environment)
		if err != nil {
			return nil, err
		}
		for _, a := range branch.Progress.Approvals {
			if a.Removals != "" {
				changes = append(changes, a.Removals)
			}
		}
		return changes, nil
	}
}
