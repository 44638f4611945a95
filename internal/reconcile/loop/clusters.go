package loop

import (
	"fmt"
	"path"

	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

// maxLockCommits bounds how far back a lock is looked for that nobody edited.
const maxLockCommits = 1_000

// restoreLock returns the state of a lock in the newest commit of the output branch in which nobody had
// edited it, and that commit; "" if there is none.
func (d *deletedStacks) restoreLock(file string) (state provision.State, commit string) {
	if d.err != nil || d.head == "" {
		return provision.State{}, ""
	}
	_, err := d.mirror.FirstParents(d.head, maxLockCommits, func(c string) bool {
		entry, there, err := d.mirror.FindEntry(c, path.Join(d.folder, file))
		if err != nil {
			d.err = fmt.Errorf("read %s of commit %.7s: %w", file, c, err)
			return true
		}
		if !there {
			return false
		}
		found, err := provision.ParseLock(entry.Data)
		if err != nil { // in this commit it was edited too
			return false
		}
		state, commit = found, c
		return true
	})
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("read the history of %s: %w", file, err)
	}
	return state, commit
}
