package clusterfiles_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// renderAll renders an environment without problems.
func renderAll(t *testing.T, layers ...model.Layer) (*model.Model, tree.Tree) {
	t.Helper()
	m, problems := model.Parse("dev", layers...)
	files, more := output.Render(m, nil, output.Options{})
	if problems = append(problems, more...); problems.Stops() {
		t.Fatal(golden.Problems(problems))
	}
	return m, files
}

// publishFirst returns an output as it is published where there is none before.
func publishFirst(t *testing.T, layers ...model.Layer) tree.Tree {
	t.Helper()
	m, rendered := renderAll(t, layers...)
	files, _, problems := clusterfiles.FollowPrevious(m, rendered, clusterfiles.Previous{})
	if problems.Stops() {
		t.Fatal(golden.Problems(problems))
	}
	return files
}

// isDetached reports whether what is carried out is that clusters are detached from their cluster types.
func isDetached(c clusterfiles.Carrier) bool {
	return len(c.Folders) == 1 && strings.Contains(c.Folders[0], "/40-detached/")
}

// TestFollowPrevious shows what stays of a previous output below "before" while clusters are detached, and
// while they are destroyed, and what the last step removes.
func TestFollowPrevious(t *testing.T) {
	golden.Run(t, "testdata/follow/*.txtar", func(t *testing.T, c *golden.Case) {
		before := publishFirst(t, model.Layer{Kind: model.Env, Name: "dev", Files: c.Tree(t, "before")})
		m, rendered := renderAll(t, c.Layers(t)...)
		none, all := func(clusterfiles.Carrier) bool { return false }, func(clusterfiles.Carrier) bool { return true }
		follow := func(previous tree.Tree, isDone func(clusterfiles.Carrier) bool) (tree.Tree, string, []clusterfiles.Carrier) {
			now, waiting, problems := clusterfiles.FollowPrevious(m, rendered, clusterfiles.Previous{Tree: previous, IsCarriedOut: isDone})
			if problems.Stops() {
				t.Fatal(golden.Problems(problems))
			}
			return now, golden.Problems(problems), waiting
		}
		wantKept := func(section string, isDone func(clusterfiles.Carrier) bool) {
			now, problems, waiting := follow(before, isDone)
			checkObjects(t, now.Sub(clusterfiles.Folder))
			checkReached(t, now.Sub(clusterfiles.Folder))
			checkPlans(t, before, now)
			if again, _, _ := follow(now, none); again.ID() != now.ID() {
				t.Errorf("%s: made again from itself, it is another one:\n%s", section, describeDiff(now, again))
			}
			var says strings.Builder
			for _, change := range impact.CompareClusters(before, now) {
				fmt.Fprintf(&says, "says: %s\n", change.Rollout)
			}
			c.Want(t, section, fmt.Sprintf("%swaits for %+v\n", problems, waiting)+describeDiff(rendered, now)+describePlan(before, now)+says.String())
			before = now
		}
		if now, _, _ := follow(before, none); strings.Contains(describeDiff(rendered, now), "/40-detached/") {
			wantKept("detached", none)
		}
		wantKept("kept", isDetached)
		first := before
		last, _, waiting := follow(first, all)
		same := withoutPlans(t, last).ID() == rendered.ID()
		if rendered.Sub(clusterfiles.Folder).IsEmpty() { // see TestLastManifestDeleted
			same = last.Sub(clusterfiles.Folder).Count() == 2
		}
		if !same || len(waiting) > 0 {
			t.Errorf("in the end there is more than is rendered, and it waits for %v:\n%s", waiting, describeDiff(rendered, last))
		}
		checkPlans(t, first, last)
		c.Want(t, "last", describeDiff(last, first)+describePlan(first, last))
	})
}

// TestClusterIDBecomesKnown: when the id of a cluster is written, or is not any more, Flux would remove what
// runs on the cluster: that must be accepted. Then the kubeconfig is copied no more, or again, without a
// word of a cluster that goes.
func TestClusterIDBecomesKnown(t *testing.T) {
	golden.Run(t, "testdata/cluster-id.txtar", func(t *testing.T, c *golden.Case) {
		render := func(replacements ...string) (*model.Model, tree.Tree) {
			var entries []tree.Entry
			for _, e := range c.Tree(t, "env").Entries() {
				entries = append(entries, tree.File(e.Name, []byte(strings.NewReplacer(replacements...).Replace(string(e.Data)))))
			}
			return renderAll(t, model.Layer{Kind: model.Env, Name: "dev", Files: tree.FromEntries(entries)})
		}
		const id, secrets = ", clusterID: one-k3x9q2a", "{fairlead.io/existing-secrets"
		_, with := render()
		_, without := render(id, "")
		for name, change := range map[string]struct {
			from tree.Tree
			to   []string
		}{"known": {without, nil}, "not known": {with, []string{id, ""}}} {
			m, rendered := render(change.to...)
			previous := clusterfiles.Previous{Tree: change.from, IsCarriedOut: func(clusterfiles.Carrier) bool { return false }}
			_, _, problems := clusterfiles.FollowPrevious(m, rendered, previous)
			if said := golden.Problems(problems); !problems.Stops() || !strings.Contains(said, "Flux would remove all that it applied") || !strings.Contains(said, "fairlead.io/accept: reattach/one") {
				t.Errorf("%s: %s", name, said)
			}
			m, rendered = render(append(change.to, secrets, "{fairlead.io/accept: reattach/one, fairlead.io/existing-secrets")...)
			now, waiting, problems := clusterfiles.FollowPrevious(m, rendered, previous)
			if withoutPlans(t, now).ID() != rendered.ID() || len(waiting) > 0 || len(problems) > 0 {
				t.Errorf("%s: it waits for %v and has the problems %s:\n%s", name, waiting, golden.Problems(problems), describeDiff(rendered, now))
			}
		}
	})
}

// describeDiff returns what the second of two outputs has, and the first has not.
func describeDiff(without, with tree.Tree) string {
	var b strings.Builder
	for change := range tree.Diff(without, with) {
		fmt.Fprintf(&b, "%s\n", change.Path)
	}
	return b.String()
}

func describePlan(before, after tree.Tree) string {
	var b strings.Builder
	for _, c := range impact.CompareClusters(before, after) {
		fmt.Fprintf(&b, "%s %s\n", c.Manifest, c.Unknown)
		for _, s := range c.Steps {
			fmt.Fprintf(&b, "  %s %v", s.ID, s.Reason)
			if len(s.After) > 0 {
				fmt.Fprintf(&b, " after %s", strings.Join(s.After, " and "))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
