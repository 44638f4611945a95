package publish

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// formerFolder is a folder of the output branch that the environment's output was in before.
type formerFolder struct {
	folder  string
	written Written
	removed int // how many cluster types go there
}

// findMovedFrom finds out which of the folders that the output is said to have left still have it.
func (w *attempt) findMovedFrom() error {
	for _, folder := range w.p.MovedFrom {
		if CleanFolder(folder) == CleanFolder(w.p.Folder) {
			continue
		}
		found, err := FindWritten(w.whole, folder, w.p.Environment, w.p.IsOurs)
		if err != nil {
			return err
		}
		if found != nil {
			_, removed := withoutOutput(w.whole.Tree, folder, *found, CleanFolder(w.p.Folder))
			w.movedFrom = append(w.movedFrom, formerFolder{CleanFolder(folder), *found, len(removed)})
		}
	}
	return nil
}

func folderName(folder string) string {
	if folder == "" {
		return "the root of the branch"
	}
	return "the folder " + folder
}

// moveSummary returns in one line what a change removes from where the output was; "" if there is
// nothing of that.
func (w *attempt) moveSummary() string {
	if len(w.movedFrom) == 0 {
		return ""
	}
	var places []string
	for _, l := range w.movedFrom {
		places = append(places, fmt.Sprintf("%s (%s)", folderName(l.folder), text.Count(l.removed, "cluster type")))
	}
	return "REMOVE its output from " + strings.Join(places, " and ")
}
