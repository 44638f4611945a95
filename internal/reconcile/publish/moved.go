package publish

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// leftFolder is a folder of the output branch that the environment's output was in before.
type leftFolder struct {
	folder  string
	written Written
	removed int // how many cluster types go there
}

// findLeft finds out which of the folders that the output is said to have left still have it.
func (w *work) findLeft() error {
	for _, folder := range w.p.Left {
		if CleanFolder(folder) == CleanFolder(w.p.Folder) {
			continue
		}
		found, err := FindWritten(w.whole, folder, w.p.Environment, w.p.IsOurs)
		if err != nil {
			return err
		}
		if found != nil {
			_, removed := withoutOutput(w.whole.Tree, folder, *found, CleanFolder(w.p.Folder))
			w.left = append(w.left, leftFolder{CleanFolder(folder), *found, len(removed)})
		}
	}
	return nil
}

// withoutLeft returns a branch's tree without the output in folders that it has left.
func (w *work) withoutLeft(whole tree.Tree) tree.Tree {
	for _, l := range w.left {
		whole, _ = withoutOutput(whole, l.folder, l.written, CleanFolder(w.p.Folder))
	}
	return whole
}

// leftReasons returns why only a person may merge a change of the folder.
func (w *work) leftReasons() []Withholding {
	var all []Withholding
	for _, l := range w.left {
		all = append(all, Withholding{
			Cause: CauseRemovals, Label: removalsLabel,
			Reason: fmt.Sprintf("it moves the output of %s from %s to %s, and removes it there", w.p.Environment, placeOf(l.folder), placeOf(CleanFolder(w.p.Folder))),
		})
	}
	return all
}

func placeOf(folder string) string {
	if folder == "" {
		return "the root of the branch"
	}
	return "the folder " + folder
}

// leftSummary says in one line what a change removes from where the output was; "" if there is
// nothing of that.
func (w *work) leftSummary() string {
	if len(w.left) == 0 {
		return ""
	}
	var places []string
	for _, l := range w.left {
		places = append(places, fmt.Sprintf("%s (%s)", placeOf(l.folder), counted(l.removed, "cluster type")))
	}
	return "remove its output from " + strings.Join(places, " and ")
}
