package source

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
)

// Lanes are parts of the base, and the commits that they are read at. The zero value is none.
type Lanes struct {
	Partition lane.Partition
	Commits   map[string]string // by lane
}

// LanesFile is where the lanes of an environment are written that have other commits than its BaseRepo, below its folder.
func LanesFile(folder string) string { return path.Join(folder, OwnFolder, "lanes.yaml") }

// findLaneRecord returns what is written in the file of an environment's lanes; nil if nothing is. Objects in other files are
// problems.
func findLaneRecord(read *model.Progress, folder string) (found *model.LaneRecord, problems problem.List) {
	for _, record := range read.Lanes {
		switch {
		case record.Pos.File != LanesFile(folder):
			problems.Addf(record.Pos, record.Subject(), "move it to "+LanesFile(folder), "the lanes of an environment are read in %s alone", LanesFile(folder))
		case found != nil:
			problems.Addf(record.Pos, record.Subject(), "put the lanes of both into one", "there are other lanes at %s", found.Pos)
		default:
			found = record
		}
	}
	return found, problems
}

func (s *Source) parseLaneRecord(env, folder string, content tree.Tree) (*model.LaneRecord, problem.List) {
	read := s.options.Parser.Progress(env+" lanes", model.Layer{Kind: model.Env, Name: env, Files: content, Prefix: folder})
	record, problems := findLaneRecord(read, folder)
	return record, append(problems, read.Problems...)
}

// laneFileAt returns the file of an environment's lanes at a commit of its branch, as its folder has it; the empty tree if there
// is none.
func laneFileAt(repo *git.Repository, commit, folder string) (tree.Tree, error) {
	e, isWritten, err := repo.FindEntry(commit, LanesFile(folder))
	if err != nil || !isWritten || e.IsDir() {
		return tree.Tree{}, err
	}
	return tree.FromFiles(map[string][]byte{LanesFile(""): e.Data})
}

// LanesAt returns the commits of the lanes that the branch lists at another head, as they are written. The record need not be
// one that is followed.
func (b Branch) LanesAt(head string) (map[string]string, error) {
	content, err := laneFileAt(b.Repo, head, b.Folder)
	if err != nil || content.IsEmpty() {
		return nil, err
	}
	commits := map[string]string{}
	for _, record := range model.NewParser().Progress("lanes", model.Layer{Kind: model.Env, Files: content, Prefix: b.Folder}).Lanes {
		maps.Copy(commits, record.Commits)
	}
	return commits, nil
}

// ListBases returns what the branch has said of the base of its environment, newest first and as it is written: as many versions
// as there are in some of its newest commits.
func (b Branch) ListBases(commits, versions int) ([]lane.Composition, error) {
	line, err := b.Repo.FirstParents(b.Head, commits, func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	var all []lane.Composition
	var last [2]tree.ID
	for i, commit := range line {
		record, _, err := b.Repo.FindEntry(commit, b.Record)
		if err != nil {
			return nil, err
		}
		lanes, _, err := b.Repo.FindEntry(commit, LanesFile(b.Folder))
		if err != nil {
			return nil, err
		}
		now := [2]tree.ID{record.ID, lanes.ID}
		if i > 0 && now == last {
			continue
		}
		last = now
		c := lane.Composition{}
		c.Platform, err = b.CommitAt(commit)
		if err == nil {
			c.Lanes, err = b.LanesAt(commit)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
		if len(all) == versions {
			break
		}
	}
	return all, nil
}

func (s *Source) readLaneRecord(env string, repo *git.Repository, commit, folder string) (*model.LaneRecord, problem.List, error) {
	content, err := s.readOnce(commitFolder{repo: repo, commit: commit, sub: LanesFile(folder), kind: model.Env, promotion: true}, func() (tree.Tree, error) {
		return laneFileAt(repo, commit, folder)
	})
	if err != nil || content.IsEmpty() {
		return nil, nil, err
	}
	record, problems := s.parseLaneRecord(env, folder, content)
	return record, problems, nil
}

func (r *reading) addLanes(record *model.LaneRecord, problems problem.List) {
	r.lanes, r.problems = record, append(r.problems, problems...)
}

// findLanes returns the lanes of the base that is promoted, with the ids of their commits: those that the environment has, or
// those of the caller, who names the commit of the base too.
func (r *reading) findLanes(repo *git.Repository, asked bool) (Lanes, error) {
	if asked && !r.at.Recorded || r.lanes == nil {
		return r.at.Lanes, nil
	}
	lanes := Lanes{Partition: lane.NewPartition(r.lanes.Lanes), Commits: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(r.lanes.Commits)) {
		written := r.lanes.Commits[name]
		commit, err := written, git.ErrNoRevision
		if IsCommit(written) {
			commit, err = repo.Resolve(written)
		}
		if errors.Is(err, git.ErrNoRevision) {
			r.problems.Addf(r.lanes.Pos, r.lanes.Subject(), fmt.Sprintf("write a commit of the base that changes the lane, or remove the lane from %s: it then has the commit of the BaseRepo", r.lanes.Pos.File),
				"lane %s has %q, which is not a commit of the base", name, written)
			continue
		}
		if err != nil {
			return Lanes{}, err
		}
		lanes.Commits[name] = commit
	}
	return lanes, nil
}

func (r *reading) refusesLanes(err error) bool {
	var conflict *lane.ConflictError
	if !errors.As(err, &conflict) || r.lanes == nil {
		return false
	}
	r.problems.Addf(r.lanes.Pos, r.lanes.Subject(), "give the lanes that have it one commit", "%s", conflict.Error())
	return true
}

// key returns a text that other lanes, or other commits of them, do not have; "" for none.
func (l Lanes) key() string {
	if len(l.Commits) == 0 {
		return ""
	}
	key := l.Partition.Key()
	for _, name := range slices.Sorted(maps.Keys(l.Commits)) {
		key += fmt.Sprintf("%s %s\n", name, l.Commits[name])
	}
	return key
}

func (l Lanes) composeFiles(repo *git.Repository, commit string, want func(path string, size int64) bool) (tree.Tree, error) {
	files, err := repo.ReadFiles(commit, want)
	if err != nil || len(l.Commits) == 0 {
		return files, err
	}
	read, lanes := map[string]tree.Tree{commit: files}, map[string]tree.Tree{}
	for name, at := range l.Commits {
		t, known := read[at]
		if !known {
			t, err = repo.ReadFiles(at, want)
			if err != nil {
				return tree.Tree{}, err
			}
			read[at] = t
		}
		lanes[name] = t
	}
	return l.Partition.Compose(files, lanes)
}

func (s *Source) checkLanes(progress *model.Progress, files tree.Tree) (problems problem.List) {
	for _, p := range progress.Promotions {
		if p.Lanes != nil {
			problems = append(problems, s.CheckLanes(*p.Lanes, files, &p.Object)...)
		}
	}
	return problems
}

// CheckLanes returns the problems of lanes with the files of the base, and with its templates. of is the object that defines
// the lanes.
func (s *Source) CheckLanes(lanes model.Lanes, files tree.Tree, of *model.Object) problem.List {
	found := s.options.Parser.Scan("", model.Layer{Kind: model.Base, Name: "main", Files: Filter(files)})
	return lane.NewPartition(lanes).Check(files, found.Templates, of)
}
