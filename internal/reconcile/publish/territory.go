package publish

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
)

const maxBelow = 6

// checkPlace refuses a place that another environment's record claims, in its folder, above or
// below, ignoring case. Only a person merges the first write to a place.
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

// checkSpelling refuses a branch that differs only in case from a taken one: some servers and
// checkouts confuse them.
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

func (w *attempt) checkTaken(branch string, view *git.View) error {
	owner := otherOwner(w.options.Records, view.Tree, w.p.Environment, "", splitFolder(w.p.Folder), 0)
	if err := view.Err(); err != nil || owner.Environment == "" {
		return err
	}
	return newBlocked(fmt.Sprintf("give each environment its own branch, or its own folder; if %s is gone, remove its %s", owner.Environment, RecordFile),
		"%s is the output of environment %s, and the output of %s cannot be in the same folder, in one above it, or in one below it",
		locationName(branch, owner.Folder), owner.Environment, w.p.Environment)
}

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

// splitFolder returns the path's names; none for the root.
func splitFolder(folder string) []string {
	return strings.FieldsFunc(CleanFolder(folder), func(r rune) bool { return r == '/' })
}

// otherOwner returns another environment's record in t, on the way down (ignoring case), or below
// its end; zero for none. An unreadable record's owner is unknown. deeper counts levels below the
// end.
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
