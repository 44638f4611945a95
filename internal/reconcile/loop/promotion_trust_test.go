package loop_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// approveAs commits an approval of a commit to the branch of stage, by somebody, signed with a key; "" for none.
// Each time it is another content of the same file.
func (w *world) approveAs(author, key, message, commit string) {
	w.Helper()
	w.people.Pull("stage")
	w.people.Write(".fairlead/approvals/a.yaml", fmt.Sprintf("# %s\n%s", gittest.Commit(w, w.people.Dir, "HEAD"), own("Approval", "a", "{commit: \""+commit+"\"}")))
	gittest.Git(w, w.people.Dir, "add", "-A")
	args := []string{"commit", "-q", "--author", author, "-m", message}
	if key != "" {
		args = append([]string{"-c", "gpg.format=ssh", "-c", "user.signingkey=" + key}, append(args, "-S")...)
	}
	gittest.Git(w, w.people.Dir, args...)
	w.people.Push("stage")
}

// TestTrustedApproval: a gate with trusted: true counts only the commits that a key proves to be their author's,
// or Fairlead's for somebody who signed in; Git alone believes any author.
func TestTrustedApproval(t *testing.T) {
	const alice = "Alice <alice@example.com>"
	const forStage = "Approve\n\nFairlead-Approval: stage"
	for name, last := range map[string]struct{ key, message string }{
		"a registered key": {"alice", forStage},
		"through the page": {"fairlead", forStage + "\nFairlead-Via: web"},
	} {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(t, scaffold.Branches, two("gates: [approval: {by: [alice@example.com], trusted: true}]"), "dev", "stage")
			dir := t.TempDir()
			var keys = map[string]string{}
			var allowed strings.Builder
			for _, who := range []string{"alice", "bob", "mallory", "fairlead"} {
				private, public := gittest.NewSSHKey(t)
				keys[who] = filepath.Join(dir, who)
				if err := os.WriteFile(keys[who], private, 0o600); err != nil {
					t.Fatal(err)
				}
				if who == "alice" || who == "bob" {
					fmt.Fprintf(&allowed, "%s@example.com namespaces=\"git\" %s\n", who, public)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "allowed"), []byte(allowed.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			w.more += "trustedSigners: {ssh: " + filepath.Join(dir, "allowed") + "}\nsigning: {ssh: {key: {file: " + keys["fairlead"] + "}}}\n"
			commit := w.changeNow(1)
			names := map[string]string{commit: "1"}
			d := w.begin(w.data)
			d.settle("dev", "stage")
			for _, forged := range []struct{ key, message, commit, want string }{
				{"", forStage, commit, "the approval of alice@example.com is in a commit without a signature"},
				{keys["mallory"], forStage, commit, "the approval of alice@example.com is signed by a key that is not among the trusted ones"},
				{keys["bob"], forStage, commit, "the approval of alice@example.com is signed by the key of another person"},
				{keys["alice"], "Approve\n\nFairlead-Approval: dev", commit, "the approval of alice@example.com is in a commit whose message does not say Fairlead-Approval: stage"},
				{keys["alice"], "Approve", commit, "does not say Fairlead-Approval: stage"},
				{keys["alice"], forStage, commit[:8], "the approval of alice@example.com abbreviates the commit"},
				{keys["fairlead"], forStage, commit, "the approval of alice@example.com is signed by Fairlead, but not for somebody who signed in"},
			} {
				w.approveAs(alice, forged.key, forged.message, forged.commit)
				d.pass(time.Minute)
				d.wantNext("stage", promote.Waiting, "1 approval missing", forged.want)
			}
			// A good commit whose author somebody has changed afterwards.
			w.approveAs("Bob <bob@example.com>", keys["bob"], forStage, commit)
			raw := gittest.Git(t, w.people.Dir, "cat-file", "commit", "HEAD") + "\n"
			changed := filepath.Join(dir, "changed")
			if err := os.WriteFile(changed, []byte(strings.Replace(raw, "author Bob <bob@example.com>", "author "+alice, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			id := gittest.Git(t, w.people.Dir, "hash-object", "-t", "commit", "-w", changed)
			gittest.Git(t, w.people.Dir, "push", "-q", "-f", "origin", id+":refs/heads/stage")
			d.pass(time.Minute)
			d.wantNext("stage", promote.Waiting, "the approval of alice@example.com has a signature that does not match")
			w.wantLine(names, "dev=1 stage=-")
			w.approveAs(alice, keys[last.key], last.message, commit)
			d.pass(time.Minute)
			w.wantLine(names, "dev=1 stage=1")
		})
	}
}

// TestTrustedWithoutKeys: where no approval can ever be trusted, that is said where the gate is written.
func TestTrustedWithoutKeys(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, two("gates: [approval: {trusted: true}]"), "dev", "stage")
	commit := w.changeNow(1)
	d := w.begin(w.data)
	d.settle("dev", "stage")
	w.approveAs("Alice <alice@example.com>", "", "Approve", commit)
	d.pass(time.Minute)
	d.wantNext("stage", promote.Waiting, "the approval of alice@example.com is in a commit without a signature")
	var said []string
	for _, p := range d.store.Snapshot().Chain.Problems {
		said = append(said, p.String()+" | "+p.Hint)
	}
	want := "no approval for stage can be trusted, because there is no key to check commits with | write signing or trustedSigners into the settings"
	if !strings.Contains(strings.Join(said, "\n"), want) {
		t.Errorf("the problems are %q, want %q", said, want)
	}
}
