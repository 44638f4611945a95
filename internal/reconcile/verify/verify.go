// Package verify renders a commit of a GitOps repository again from its recorded inputs, and
// compares.
//
// It compares the bytes of every file by Git ids. It ignores files that the record does not name.
// Unreadable inputs are an error, not a difference.
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

// ErrNoRecord is the error for a commit without output of Fairlead.
var ErrNoRecord = errors.New("nothing in it has a record of Fairlead (" + publish.RecordFile + "); if it was removed, verify an older commit")

// Result is the result for one environment.
type Result struct {
	Environment string          `json:"environment"`
	Folder      string          `json:"folder,omitempty"` // of the output
	From        []publish.Input `json:"from"`
	Files       int             `json:"files"`
	// Different has the sorted paths of differing files, at most MaxDifferent of Count.
	Different []string `json:"different"`
	Count     int      `json:"differentCount"`
	// Unverified are folders that others wrote, which later waves replace.
	Unverified []string `json:"unverified,omitempty"`
}

// MaxDifferent limits the paths in a Result.
const MaxDifferent = 100

// Commit verifies all environments in a commit, by folder. open returns a control plane's source by
// base location.
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

type foundRecord struct {
	written publish.Written
	folder  string
}

const maxDepth = 4

func findRecords(t tree.Tree, dir string, depth int) ([]foundRecord, error) {
	var all []foundRecord
	if e, ok := t.Lookup(publish.RecordFile); ok && !e.IsDir() {
		r, err := publish.ReadRecord(e.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Join(dir, publish.RecordFile), err)
		}
		for _, w := range r.Environments {
			if len(w.From) > 0 { // otherwise nothing was written
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

func (r foundRecord) verifyOutput(ctx context.Context, whole tree.Tree, open openSource) (Result, error) {
	result := Result{Environment: r.written.Environment, Folder: r.folder, From: r.written.From, Different: []string{}}
	src, at, err := r.openInputs(ctx, r.written.From, open)
	if err != nil {
		return result, err
	}
	is := whole.Sub(r.folder)
	var should tree.Tree
	var different []string
	if r.written.Advance == nil {
		should, different, err = r.renderAgain(ctx, src, at, is)
	} else {
		for _, o := range r.written.Older {
			if len(o.From) == 0 {
				result.Unverified = append(result.Unverified, o.Folders...)
			}
		}
		is = tree.FromEntries(slices.DeleteFunc(slices.Clone(is.Entries()), func(e tree.Entry) bool { return slices.Contains(result.Unverified, e.Name) }))
		should, err = r.renderMixed(ctx, src, at, is, open)
		different = r.findDifferent(is, should)
	}
	if err != nil {
		return result, err
	}
	result.Files, result.Count = should.Count(), len(different)
	slices.Sort(different)
	result.Different = append(result.Different, different[:min(len(different), MaxDifferent)]...)
	return result, nil
}

type openSource = func(ctx context.Context, base string) (*source.Source, error)

func (r foundRecord) openInputs(ctx context.Context, from []publish.Input, open openSource) (*source.Source, source.Revisions, error) {
	base := ""
	for _, in := range from {
		if in.Commit == "" {
			return nil, source.Revisions{}, fmt.Errorf("its %s was a folder, %s, whose content at that time is not known", in.Layer, in.Folder)
		}
		if in.Layer == publish.BaseLayer {
			base = in.Repo
		}
	}
	at := publish.Revisions(r.written.Environment, from)
	if base == "" || at.Environment == "" {
		return nil, at, errors.New("its record does not name the commits of the base and of the environment")
	}
	src, err := open(ctx, base)
	return src, at, err
}

// renderMixed returns the output between two waves: each folder as rendered from its own inputs.
func (r foundRecord) renderMixed(ctx context.Context, src *source.Source, at source.Revisions, is tree.Tree, open openSource) (tree.Tree, error) {
	var all []tree.Entry
	seen := map[string]bool{} // people may have edited the record
	add := func(src *source.Source, at source.Revisions, has func(folder string) bool) error {
		rendered, _, err := r.renderAt(ctx, src, at, is)
		for _, e := range rendered.Entries() {
			if has(e.Name) && !seen[e.Name] {
				all, seen[e.Name] = append(all, e), true
			}
		}
		return err
	}
	older := map[string]bool{}
	for _, o := range r.written.Older {
		for _, name := range o.Folders {
			older[name] = true
		}
		if len(o.From) == 0 {
			continue
		}
		src, at, err := r.openInputs(ctx, o.From, open)
		if err != nil {
			return tree.Tree{}, err
		}
		if err := add(src, at, func(folder string) bool { return slices.Contains(o.Folders, folder) }); err != nil {
			return tree.Tree{}, err
		}
	}
	err := add(src, at, func(folder string) bool { return slices.Contains(r.written.Folders, folder) && !older[folder] })
	return tree.FromEntries(all), err
}

// unreadModules describes unreadable modules of recorded commits. They may change root modules or
// stop a stack, which is then taken from the output.
type unreadModules struct {
	summary string
	stops   bool // a stack is stopped
}

// renderAgain returns the rendered tree and differing paths. It also tries an expired ephemeral
// environment, without stacks, because commits do not show expiry.
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

func (r foundRecord) findDifferent(is, should tree.Tree) []string {
	var paths []string
	for change := range tree.Diff(r.comparedPart(is, should), should) {
		if change.Path != output.TrackingFile { // it may name an older commit, because it changes only with other files
			paths = append(paths, change.Path)
		}
	}
	return paths
}

// renderAt renders an environment. It derives the teardown of stacks without a file from the output
// itself.
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
	unread.stops = problems.Stops() // of a stack only
	return should, unread, nil
}

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
