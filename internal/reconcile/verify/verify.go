// Package verify renders again what a commit of a GitOps repository says it was
// rendered from, and compares.
//
// What the package keeps true: what is compared is the bytes of every file, by the ids
// of Git; what the record does not name is not ours and is not looked at; a commit whose
// inputs cannot be read is not verified, which is an error and not a difference.
package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// ErrNoRecord is the error for a commit in which Fairlead has written nothing.
var ErrNoRecord = errors.New("nothing in it has a record of Fairlead (" + publish.RecordFile + "); if it was removed, verify an older commit")

// Result is what came of one environment.
type Result struct {
	Environment string          `json:"environment"`
	Folder      string          `json:"folder,omitempty"` // of the output in the commit
	From        []publish.Input `json:"from"`
	Files       int             `json:"files"`
	// Different are the paths of files that are not as they were rendered, sorted; at
	// most MaxDifferent of them, of Count.
	Different []string `json:"different"`
	Count     int      `json:"differentCount"`
}

// MaxDifferent is how many paths a Result has at most.
const MaxDifferent = 100

// Commit verifies all environments that a commit has the output of, sorted by folder.
// open returns the source of a control plane, by the location of its base.
func Commit(ctx context.Context, repo *git.Repository, commit string, open func(ctx context.Context, base string) (*source.Source, error)) ([]Result, error) {
	return git.InspectTree(repo, commit, func(t tree.Tree) ([]Result, error) {
		records, err := findRecords(t, "", 0)
		if err == nil && len(records) == 0 {
			err = ErrNoRecord
		}
		if err != nil {
			return nil, err
		}
		var all []Result
		for _, r := range records {
			result, err := r.verifyOutput(ctx, t, open)
			if err != nil {
				return nil, fmt.Errorf("environment %s: %w", r.written.Environment, err)
			}
			all = append(all, result)
		}
		return all, nil
	})
}

// foundRecord is one that was found in a folder.
type foundRecord struct {
	written publish.Written
	folder  string
}

// maxDepth is how deep in a repository the folder of an output is looked for.
const maxDepth = 4

func findRecords(t tree.Tree, dir string, depth int) ([]foundRecord, error) {
	var all []foundRecord
	if e, ok := t.Lookup(publish.RecordFile); ok && !e.IsDir() {
		r, err := publish.ReadRecord(e.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Join(dir, publish.RecordFile), err)
		}
		for _, w := range r.Environments {
			if len(w.From) > 0 { // or else nothing was written yet
				all = append(all, foundRecord{w, path.Join(dir, w.Folder)})
			}
		}
		return all, nil
	}
	if depth == maxDepth {
		return nil, nil
	}
	for _, e := range t.Entries() {
		if !e.IsDir() || strings.HasPrefix(e.Name, ".") {
			continue
		}
		below, err := findRecords(e.Tree(), path.Join(dir, e.Name), depth+1)
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return all, nil
}

func (r foundRecord) verifyOutput(ctx context.Context, whole tree.Tree, open func(context.Context, string) (*source.Source, error)) (Result, error) {
	result := Result{Environment: r.written.Environment, Folder: r.folder, From: r.written.From, Different: []string{}}
	base := ""
	var commits []source.Commit
	for _, in := range r.written.From {
		if in.Commit == "" {
			return result, fmt.Errorf("its %s was a folder, %s, whose content at that time is not known", in.Layer, in.Folder)
		}
		if in.Layer == publish.BaseLayer {
			base = in.Repo
		}
		commits = append(commits, source.Commit{Layer: in.Layer, Repo: in.Repo, Commit: in.Commit, Moves: in.Moves})
	}
	at := source.RecordedRevisions(r.written.Environment, commits)
	if base == "" || at.Environment == "" {
		return result, errors.New("its record does not name the commits of the base and of the environment")
	}
	src, err := open(ctx, base)
	if err != nil {
		return result, err
	}
	is := whole.Sub(r.folder)
	should, different, err := r.renderAgain(ctx, src, at, is)
	if err != nil {
		return result, err
	}
	result.Files, result.Count = should.Count(), len(different)
	slices.Sort(different)
	result.Different = append(result.Different, different[:min(len(different), MaxDifferent)]...)
	return result, nil
}

// unreadModules is why modules at recorded commits could not be read; "" if all were. Without them, other root
// modules may be rendered, or a stack stops, and counts as it is in the output.
type unreadModules struct {
	summary string
	stops   bool // a stack is stopped
}

// renderAgain returns what the record says was rendered, and the paths that differ from it. An ephemeral
// environment without its stacks is one whose time was over, which is no part of its commits.
func (r foundRecord) renderAgain(ctx context.Context, src *source.Source, at source.Revisions, is tree.Tree) (tree.Tree, []string, error) {
	should, unread, err := r.renderAt(ctx, src, at, is)
	if err != nil {
		return should, nil, err
	}
	different := r.findDifferent(is, should)
	if unread.summary != "" && (len(different) > 0 || unread.stops) {
		return should, nil, fmt.Errorf("what it should be is not known: %s", unread.summary)
	}
	if len(different) == 0 {
		return should, nil, nil
	}
	at.Ending = true
	ended, _, err := r.renderAt(ctx, src, at, is)
	if err == nil && len(r.findDifferent(is, ended)) == 0 {
		return ended, nil, nil
	}
	return should, different, nil
}

// findDifferent returns the paths of files that are not as they should be.
func (r foundRecord) findDifferent(is, should tree.Tree) []string {
	var paths []string
	for change := range tree.Diff(r.comparedPart(is, should), should) {
		if change.Path != output.TrackingFile { // it is not written again if nothing else changes, and may name an older commit
			paths = append(paths, change.Path)
		}
	}
	return paths
}

// renderAt renders an environment, with the stacks that the output tears down because they have no file:
// their teardown, made again from the output that has it, is the same.
func (r foundRecord) renderAt(ctx context.Context, src *source.Source, at source.Revisions, is tree.Tree) (should tree.Tree, unread unreadModules, err error) {
	stacks, err := stackfiles.Summarize(is)
	if err != nil {
		return tree.Tree{}, unread, err
	}
	at.Kept = source.NamedStates(stacks)
	rendered, err := src.Render(ctx, r.written.Environment, at, &output.Cache{})
	if err != nil {
		return tree.Tree{}, unread, err
	}
	problems := rendered.Problems
	should = rendered.Tree
	if !problems.StopsEnvironment() && len(r.written.Stopped) > 0 {
		rendered.Tree, err = stackfiles.KeepStopped(rendered.Tree, tree.Tree{}, func(stack string) bool { return slices.Contains(r.written.Stopped, stack) })
	}
	if err == nil && !problems.StopsEnvironment() {
		should, _, problems, err = stackfiles.FollowPrevious(rendered.Model, rendered.Tree, stackfiles.KnownPrevious(is))
		if err == nil && !problems.Stops() {
			should, _, problems = clusterfiles.FollowPrevious(rendered.Model, should, clusterfiles.Previous{
				Tree: is, IsCarriedOut: func(clusterfiles.Carrier) bool { return false },
			})
		}
	}
	if err != nil {
		return tree.Tree{}, unread, err
	}
	if p, stops := problems.FirstStopping(); stops && problems.StopsEnvironment() {
		return tree.Tree{}, unread, fmt.Errorf("it does not render any more: %s", p)
	}
	for _, layer := range rendered.Model.Stacks.Layers {
		unread.summary = cmp.Or(unread.summary, layer.UnreadModules.Summary)
	}
	unread.stops = problems.Stops() // a stack: nothing stops the environment
	return should, unread, nil
}

// comparedPart returns what is compared with what was rendered: of folders that are ours, all; of
// others, what was rendered.
func (r foundRecord) comparedPart(is, should tree.Tree) tree.Tree {
	var kept []tree.Entry
	for _, e := range is.Entries() {
		if r.written.Folders == nil || slices.Contains(r.written.Folders, e.Name) {
			kept = append(kept, e)
			continue
		}
		if wanted, ok := should.Lookup(e.Name); ok && strings.HasPrefix(e.Name, ".") && wanted.IsDir() {
			kept = append(kept, tree.Dir(e.Name, commonPart(e.Tree(), wanted.Tree())))
		}
	}
	return tree.FromEntries(kept)
}

// commonPart returns the part of a tree whose paths are in another.
func commonPart(is, should tree.Tree) tree.Tree {
	var kept []tree.Entry
	for _, e := range is.Entries() {
		wanted, ok := should.Lookup(e.Name)
		switch {
		case !ok:
		case e.IsDir() && wanted.IsDir():
			kept = append(kept, tree.Dir(e.Name, commonPart(e.Tree(), wanted.Tree())))
		default:
			kept = append(kept, e)
		}
	}
	return tree.FromEntries(kept)
}
