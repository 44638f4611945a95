package publish

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

type formerFolder struct {
	folder  string
	written Written
	removed int // number of removed cluster types
}

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
