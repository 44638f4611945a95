package loop_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestDeletedOutputBranch: an output branch that somebody deletes is called deleted, with the command that restores it, whether
// Fairlead may make branches or not; one that never was is not.
func TestDeletedOutputBranch(t *testing.T) {
	for create, word := range map[string]string{"output: {create: true}\n": "", "": "has no branch dev"} {
		t.Run(strings.TrimSpace(create), func(t *testing.T) {
			w := newWorld(t, scaffold.Branches, "dev")
			w.more += create
			d := w.begin(w.data)
			d.cycle()
			w.merge("dev")
			d.cycle()
			head := gittest.Git(t, w.server.Dir("out"), "rev-parse", "dev")
			restore := "git push " + w.server.URL("out") + " " + head + ":refs/heads/dev"
			w.drop("out", "dev")
			d.cycle()
			d.cycle()
			if create == "" {
				d.wantProblem("dev", "branch dev of", "was deleted", restore)
			} else {
				d.want(map[string]status.State{"dev": status.Proposed})
				if body := w.open("dev").Body; !strings.Contains(body, "branch dev was deleted") || !strings.Contains(body, head+":refs/heads/dev") || strings.Contains(body, "has not been in") {
					t.Errorf("the pull request says\n%s", body)
				}
			}
			if word != "" {
				d.Close()
				again := w.begin(t.TempDir()) // which never saw it
				again.cycle()
				again.wantProblem("dev", word)
			}
		})
	}
}
