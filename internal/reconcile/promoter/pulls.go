package promoter

import (
	"context"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// CheckPulls reports whether the open pull requests of records have changed since the last round,
// which moves no reference. They are listed, with one call, if this round has fetched the control
// plane and a branch of ours exists.
func (m *Promoter) CheckPulls(ctx context.Context) (changed bool) {
	remote := m.options.Remotes.ControlPlane()
	if !m.options.Settings.Write || remote == nil || !m.options.Remotes.HasAnswered(remote) {
		return false
	}
	proposed, err := m.ProposedRecords()
	if err != nil || len(proposed) == 0 {
		return false
	}
	f, err := remote.Forge()
	if err != nil || f.Name() == forge.PlainName { // there they are references, which were asked for
		return false
	}
	pulls, err := f.OpenPulls(ctx)
	if err != nil { // a look says so where it matters
		return false
	}
	var now strings.Builder
	for _, p := range pulls {
		if strings.HasPrefix(p.Head, m.options.Settings.Output.BranchPrefix+recordBranches) {
			fmt.Fprintln(&now, p.Number, p.Head, p.Base)
		}
	}
	changed, m.openPulls = now.String() != m.openPulls, now.String()
	return changed
}
