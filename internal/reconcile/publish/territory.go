package publish

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// maxBelow is how deep below a place other environments' records are looked for.
const maxBelow = 6

// checkPlace refuses a place that another environment has, by its record: the folder
// itself, one that it is in, or one below it; also if only upper and lower case differ. A
// place with a record of this environment is its own. Otherwise this is the first write to
// the place, which only a person merges.
func (w *attempt) checkPlace() error {
	folder := CleanFolder(w.p.Folder)
	own, err := HasRecord(w.options.Records, w.whole.Tree.Sub(folder), w.p.Environment)
	if err != nil {
		return fmt.Errorf("%s: %w", locationName(w.p.Branch, folder), err)
	}
	if own {
		return w.whole.Err()
	}
	w.first = true
	owner := w.otherOwner(w.whole.Tree, folder)
	if err := w.whole.Err(); err != nil {
		return err
	}
	if owner.Environment != "" {
		return w.errTaken(w.p.Branch, owner)
	}
	return w.checkSpelling()
}

// checkSpelling refuses a branch whose name differs only in upper and lower case from one
// in which another environment has the place: some servers and checkouts take them for one.
func (w *attempt) checkSpelling() error {
	folder := CleanFolder(w.p.Folder)
	refs, err := w.repo.Refs(heads)
	if err != nil {
		return err
	}
	for ref, head := range refs {
		branch := strings.TrimPrefix(ref, heads)
		if branch == w.p.Branch || !strings.EqualFold(branch, w.p.Branch) {
			continue
		}
		view, err := w.repo.View(head)
		if err != nil {
			return err
		}
		owner := w.otherOwner(view.Tree, folder)
		if err := view.Err(); err != nil {
			return err
		}
		if owner.Environment != "" {
			return w.errTaken(branch, owner)
		}
	}
	return nil
}

// errTaken returns the error that a place belongs to another environment.
func (w *attempt) errTaken(branch string, owner Written) error {
	return newBlocked(fmt.Sprintf("give each environment its own branch, or its own folder; if %s is gone, remove its %s", owner.Environment, RecordFile),
		"%s is the output of environment %s, and the output of %s cannot be in the same folder, in one above it, or in one below it",
		locationName(branch, owner.Folder), owner.Environment, w.p.Environment)
}

// locationName returns how people call a folder of a branch.
func locationName(branch, folder string) string {
	if folder == "" {
		return "branch " + branch
	}
	return fmt.Sprintf("branch %s, folder %s", branch, folder)
}

// HasRecord reports whether the record in a folder names an environment.
func HasRecord(records *Records, folder tree.Tree, environment string) (bool, error) {
	e, ok := folder.Lookup(RecordFile)
	if !ok || e.IsDir() {
		return false, nil
	}
	r, err := records.Read(e)
	if err != nil {
		return false, newBlocked("restore it from an older commit", "%s", err)
	}
	return slices.ContainsFunc(r.Environments, func(w Written) bool { return w.Environment == environment }), nil
}

// otherOwner returns the environment whose record is in a folder, in one that the folder is
// in, or below it, with the folder of the record; the zero value if there is none.
func (w *attempt) otherOwner(t tree.Tree, folder string) Written {
	type level struct {
		folder string
		tree   tree.Tree
	}
	levels := []level{{"", t}}
	for _, name := range strings.Split(folder, "/") {
		var below []level
		for _, at := range levels {
			if owner := w.otherIn(at.tree, at.folder); owner.Environment != "" {
				return owner
			}
			for _, e := range at.tree.Entries() {
				if name != "" && e.IsDir() && strings.EqualFold(e.Name, name) {
					below = append(below, level{path.Join(at.folder, e.Name), e.Tree()})
				}
			}
		}
		if name != "" {
			levels = below
		}
	}
	for _, at := range levels {
		if owner := w.otherBelow(at.tree, at.folder, 0); owner.Environment != "" {
			return owner
		}
	}
	return Written{}
}

// otherBelow looks for the record of another environment in a folder and below it.
func (w *attempt) otherBelow(t tree.Tree, folder string, depth int) Written {
	if owner := w.otherIn(t, folder); owner.Environment != "" || depth == maxBelow {
		return owner
	}
	for _, e := range t.Entries() {
		if !e.IsDir() || isDot(e.Name) {
			continue
		}
		if owner := w.otherBelow(e.Tree(), path.Join(folder, e.Name), depth+1); owner.Environment != "" {
			return owner
		}
	}
	return Written{}
}

// otherIn returns the first environment that the record in a folder names, if it is not
// this one. The owner of a record that cannot be read is unknown.
func (w *attempt) otherIn(t tree.Tree, folder string) Written {
	e, ok := t.Lookup(RecordFile)
	if !ok || e.IsDir() {
		return Written{}
	}
	r, err := w.options.Records.Read(e)
	if err != nil {
		return Written{Environment: "unknown", Folder: folder}
	}
	for _, other := range r.Environments {
		if other.Environment != w.p.Environment {
			return Written{Environment: other.Environment, Folder: path.Join(folder, other.Folder)}
		}
	}
	return Written{}
}

// firstWrite returns why a person merges what Fairlead writes to a place for the first
// time; none if it is not the first, or Fairlead chose the place.
func (w *attempt) firstWrite() []Withholding {
	if !w.first || w.p.LocationChosen {
		return nil
	}
	return []Withholding{{Cause: CauseLocation, Reason: fmt.Sprintf(
		"the output of %s has not been in %s before (no %s there names it): a person merges the first change, whatever merge says",
		w.p.Environment, locationName(w.p.Branch, CleanFolder(w.p.Folder)), RecordFile)}}
}
