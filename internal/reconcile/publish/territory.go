package publish

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
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
	if err := w.checkTaken(w.p.Branch, w.whole); err != nil {
		return err
	}
	return w.checkSpelling()
}

// checkSpelling refuses a branch whose name differs only in upper and lower case from one
// in which another environment has the place: some servers and checkouts take them for one.
func (w *attempt) checkSpelling() error {
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
		if err := w.checkTaken(branch, view); err != nil {
			return err
		}
	}
	return nil
}

// checkTaken refuses a branch in which the place belongs to another environment.
func (w *attempt) checkTaken(branch string, view *git.View) error {
	owner := otherOwner(w.options.Records, view.Tree, w.p.Environment, "", splitFolder(w.p.Folder), 0)
	if err := view.Err(); err != nil || owner.Environment == "" {
		return err
	}
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
	r, err := records.ReadIn(folder)
	return slices.ContainsFunc(r.Environments, func(w Written) bool { return w.Environment == environment }), err
}

// splitFolder returns the names on the way to a folder; none for the root.
func splitFolder(folder string) []string {
	return strings.FieldsFunc(CleanFolder(folder), func(r rune) bool { return r == '/' })
}

// otherOwner returns the environment, other than this one, whose record is in a folder, in one on the
// way down from it, in any case, or below the end of the way; the zero value if there is none. The
// owner of a record that cannot be read is unknown. deeper is how far below the end t is.
func otherOwner(records *Records, t tree.Tree, environment, folder string, way []string, deeper int) Written {
	r, err := records.ReadIn(t)
	if err != nil {
		return Written{Environment: "unknown", Folder: folder}
	}
	for _, other := range r.Environments {
		if other.Environment != environment {
			return Written{Environment: other.Environment, Folder: path.Join(folder, other.Folder)}
		}
	}
	for _, e := range t.Entries() {
		var owner Written
		switch {
		case !e.IsDir():
		case len(way) > 0 && strings.EqualFold(e.Name, way[0]):
			owner = otherOwner(records, e.Tree(), environment, path.Join(folder, e.Name), way[1:], 0)
		case len(way) == 0 && !isDot(e.Name) && deeper < maxBelow:
			owner = otherOwner(records, e.Tree(), environment, path.Join(folder, e.Name), nil, deeper+1)
		}
		if owner.Environment != "" {
			return owner
		}
	}
	return Written{}
}
