package forge_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/testkit/forgetest"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestPlainPublish publishes while people act between our calls.
func TestPlainPublish(t *testing.T) {
	forgetest.RunPublish(t, func(t *testing.T) forgetest.Crowd {
		s := gittest.Serve(t)
		s.Create("gitops")
		branch := forgetest.Brancher(t, s, "gitops")
		ours, remote := plain(t, s, "Fairlead")
		person, theirs := plain(t, s, "A Person")
		look := func() forge.Forge { fetch(t, theirs); return person }
		return forgetest.Crowd{
			Subject: forgetest.Subject{
				Forge:  ours,
				Branch: branch,
				Merge:  func(number int) { look(); check(t, person.MergePull(t.Context(), number, "")) },
				Close:  func(number int) { look(); check(t, person.ClosePull(t.Context(), number, "")) },
			},
			Remote: remote,
			People: look,
			Reopen: func(number int) { look(); check(t, person.ReopenPull(t.Context(), number, "")) },
			Remove: func(branch string) { gittest.Git(t, s.Dir("gitops"), "update-ref", "-d", "refs/heads/"+branch) },
		}
	}, 1)
}
