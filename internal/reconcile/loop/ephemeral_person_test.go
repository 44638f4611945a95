package loop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestPersonOnEphemeralOutput: a commit of a person on the output branch of an ephemeral
// environment is still there when that is over, and the log says which. Our files go.
func TestPersonOnEphemeralOutput(t *testing.T) {
	for name, do := range map[string]func(p *gittest.Work){
		"beside":     func(p *gittest.Work) { p.Write("notes.md", "theirs\n"); p.Commit("theirs") },
		"in between": func(p *gittest.Work) { p.Write("cloud/hello-web/namespace.yaml", "theirs\n"); p.Commit("theirs") },
		"taken back": func(p *gittest.Work) {
			p.Write("notes.md", "theirs\n")
			p.Commit("theirs")
			p.Remove("notes.md")
			p.Commit("not needed")
		},
		"with our trailers": func(p *gittest.Work) {
			p.Write("notes.md", "theirs\n")
			p.Commit("theirs\n\nFairlead-Environment: pr-7\nFairlead-Digest: sha256:1234")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scaffold.Branches, "dev")
			d := w.begin(w.data)
			d.cycle()
			w.clone("pr-7", 24*time.Hour)
			d.cycle()
			d.cycle()
			d.want(map[string]status.State{"dev": status.Proposed, "pr-7": status.InSync})
			p := w.server.Work(t, "out")
			p.Pull("ephemeral/pr-7")
			do(p)
			p.Push("ephemeral/pr-7")
			theirs := w.head("out", "ephemeral/pr-7")

			w.now = w.now.Add(25 * time.Hour)
			for range 4 {
				d.cycle()
			}
			d.want(map[string]status.State{"dev": status.Proposed})
			left := w.branches("out")
			if left["ephemeral/pr-7"] == "" {
				t.Fatalf("the branch is gone with a commit of a person: %s", w.logs.String())
			}
			gittest.Git(t, w.server.Dir("out"), "merge-base", "--is-ancestor", theirs, "ephemeral/pr-7")
			for file := range gittest.Files(t, w.server.Dir("out"), "ephemeral/pr-7") {
				if file != "notes.md" {
					t.Errorf("%s is still there", file)
				}
			}
			if !strings.Contains(w.logs.String(), "the branch ephemeral/pr-7 stays, since commit ") {
				t.Errorf("the log does not say what stays:\n%s", w.logs.String())
			}
			if cp := w.branches("cp"); cp["ephemeral/pr-7"] != "" {
				t.Error("the environment is still there")
			}
			d.quiet("cp", "out")
		})
	}
}

// TestPersonOnEphemeralProposal: nor is a commit on the branch that proposes its output
// lost.
func TestPersonOnEphemeralProposal(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.more += "merge: {pr-7: manual}\n"
	d := w.begin(w.data)
	d.cycle()
	w.clone("pr-7", 24*time.Hour)
	d.cycle()
	d.cycle()
	p := w.server.Work(t, "out")
	p.Pull("fairlead/pr-7")
	p.Write("notes.md", "theirs\n")
	gittest.Git(t, p.Dir, "add", "-A")
	gittest.Git(t, p.Dir, "commit", "-q", "--amend", "--no-edit")
	p.Push("+HEAD:fairlead/pr-7")
	theirs := w.head("out", "fairlead/pr-7")
	w.now = w.now.Add(25 * time.Hour)
	for range 4 {
		d.cycle()
	}
	if w.branches("out")["fairlead/pr-7"] != theirs {
		t.Errorf("the branch of the proposal is gone with a commit of a person: %s", w.logs.String())
	}
	if !strings.Contains(w.logs.String(), theirs) {
		t.Errorf("the log does not say what stays:\n%s", w.logs.String())
	}
}
