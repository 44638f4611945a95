package doctor_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/doctor"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestTryPush: with --push, the answer of a hook is a finding, in the server's words, and nothing is
// left behind; without, the finding says that hooks were not asked.
func TestTryPush(t *testing.T) {
	const settings = "write: true\nforges: [{host: \"GITHOST\", kind: git}]\n"
	const hook = "#!/bin/sh\nwhile read old new ref; do\n  case $ref in refs/heads/fairlead/doctor-*) echo 'policy: no such branches here' >&2; exit 1;; esac\ndone\n"
	for name, test := range map[string]struct {
		hook  string
		keeps bool // the server lets no branch be removed
		push  bool
		start string
		says  string
		hint  string
		left  bool
	}{
		"nothing refuses": {push: true, start: "ok    GIT/acme/out.git: push  ", says: "a commit was pushed to a new branch fairlead/doctor-…, and the branch was removed again"},
		"a hook refuses": {
			hook: hook, push: true, start: "fail  GIT/acme/out.git: push  ", says: "pre-receive hook declined",
			hint: "let hooks and push rules accept what this account pushes to the branches fairlead/**",
		},
		"a hook refuses, unseen": {hook: hook, start: "ok    GIT/acme/out.git: push  ", says: "only doctor --push shows whether a hook or a push rule refuses it"},
		"no branch may go": {
			keeps: true, push: true, start: "fail  GIT/acme/out.git: push  ", says: "could be pushed, and not removed again: ",
			hint: "let the account remove the branches fairlead/**, then run: git push GIT/acme/out.git --delete fairlead/doctor-", left: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(string) string { return "" }, "dev")
			dir := w.git.Dir("acme/out")
			if test.hook != "" {
				if err := os.MkdirAll(filepath.Join(dir, "hooks"), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "hooks", "pre-receive"), []byte(test.hook), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if test.keeps {
				gittest.Git(t, dir, "config", "receive.denyDeletes", "true")
			}
			before := w.refs()
			got := w.examineWith(settings, doctor.Options{Push: test.push})
			wantFinding(t, got, test.start, test.says)
			if test.hint != "" {
				wantFinding(t, got, "      hint: ", test.hint)
			}
			if (w.refs() != before) != test.left {
				t.Errorf("the branches were\n%s\nand are\n%s", before, w.refs())
			}
		})
	}
}
