package clusterfiles_test

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// TestPhases shows the outputs that lead, one after another, from what is written below "before" to what is
// written now, each after the clusters have reported the one before: what changes, and in which order Flux
// goes on.
func TestPhases(t *testing.T) {
	golden.Run(t, "testdata/phases/*.txtar", func(t *testing.T, c *golden.Case) {
		current := publishFirst(t, model.Layer{Kind: model.Env, Name: "dev", Files: c.Tree(t, "before")})
		m, rendered := renderAll(t, c.Layers(t)...)
		follow := func(previous tree.Tree, done bool) tree.Tree {
			now, _, problems := clusterfiles.FollowPrevious(m, rendered, clusterfiles.Previous{
				Tree: previous, IsCarriedOut: func(clusterfiles.Carrier) bool { return done },
			})
			if problems.Stops() {
				t.Fatal(golden.Problems(problems))
			}
			return now
		}
		var all strings.Builder
		for n := 1; ; n++ {
			next := follow(current, n > 1)
			if next.ID() == current.ID() && n > 1 {
				break
			}
			if next.ID() == current.ID() {
				fmt.Fprintf(&all, "== change %d waits for what was reported\n", n)
				continue
			}
			if n > 8 {
				t.Fatal("it does not end")
			}
			checkObjects(t, next.Sub(clusterfiles.Folder))
			checkReached(t, next.Sub(clusterfiles.Folder))
			checkPlans(t, current, next)
			if again := follow(next, false); again.ID() != next.ID() {
				t.Errorf("change %d: made again from itself, it is another one:\n%s", n, describeDiff(again, next))
			}
			fmt.Fprintf(&all, "== change %d\n%s%s", n, describePlan(current, next), describeParts(t, next))
			for _, change := range impact.CompareClusters(current, next) {
				fmt.Fprintf(&all, "says: %s\n", change.Rollout)
			}
			current = next
		}
		if withoutPlans(t, current).ID() != rendered.ID() {
			t.Errorf("in the end there is something else than is rendered:\n%s%s", describeDiff(rendered, current), describeDiff(current, rendered))
		}
		c.Want(t, "changes", all.String())
	})
}

// TestEmptyManifestDeleted: the file of a manifest without clusters, which nothing carries out, may be
// deleted at once.
func TestEmptyManifestDeleted(t *testing.T) {
	before, problems := renderTexts(t, `{apiVersion: claudie.io/v1beta1, kind: InputManifest, metadata: {name: m, namespace: fleet, annotations: {fairlead.io/executor: tofu}}, spec: {}}`, "")
	if problems.Stops() {
		t.Fatal(golden.Problems(problems))
	}
	checkReached(t, before)
	whole := tree.FromEntries([]tree.Entry{tree.Dir(clusterfiles.Folder, before)})
	settings, err := tree.FromFiles(map[string][]byte{"s.yaml": []byte(randomSettings)})
	if err != nil {
		t.Fatal(err)
	}
	m, rendered := renderAll(t, model.Layer{Kind: model.Env, Name: "dev", Files: settings})
	now, waiting, problems := clusterfiles.FollowPrevious(m, rendered, clusterfiles.Previous{
		Tree: whole, IsCarriedOut: func(c clusterfiles.Carrier) bool { return len(c.Kustomizations) == 0 },
	})
	if !now.Sub(clusterfiles.Folder+"/tofu").IsEmpty() || rendered.Count() > 0 || len(waiting) > 0 || problems.Stops() {
		t.Errorf("it stays, waits for %v, and has the problems %s", waiting, golden.Problems(problems))
	}
}

// TestDestroyApproval: where plans are not applied by themselves, the plan that destroys a part is approved
// like any other. The approval must go with the part.
func TestDestroyApproval(t *testing.T) {
	golden.Run(t, "testdata/phases/last-cluster.txtar", func(t *testing.T, c *golden.Case) {
		render := func(folder, approval string) (*model.Model, tree.Tree) {
			entries := []tree.Entry{tree.File("z-approval.yaml", []byte(approval))}
			for _, e := range c.Tree(t, folder).Entries() {
				entries = append(entries, tree.File(e.Name, bytes.ReplaceAll(e.Data, []byte("autoApprove: true"), []byte("autoApprove: false"))))
			}
			return renderAll(t, model.Layer{Kind: model.Env, Name: "dev", Files: tree.FromEntries(entries)})
		}
		follow := func(previous tree.Tree, approval string, done bool) (tree.Tree, problem.List) {
			m, rendered := render("env", approval)
			now, _, problems := clusterfiles.FollowPrevious(m, rendered, clusterfiles.Previous{Tree: previous, IsCarriedOut: func(clusterfiles.Carrier) bool { return done }})
			return now, problems
		}
		const part = "one-idvnvqt-np-compute-compute"
		field := func(output tree.Tree, file, name string) string {
			e, _ := output.Lookup("clusters/tofu/fleet-m/objects/" + part + "/" + file)
			_, rest, _ := strings.Cut(string(e.Data), name+": ")
			value, _, _ := strings.Cut(rest, "\n")
			return strings.Trim(value, `"`)
		}
		_, current := render("before", "")
		made := field(current, "terraform.yaml", "fairlead.io/inputs")
		for range 2 { // detached, and to be destroyed
			current, _ = follow(current, "", true)
		}
		commit, inputs := field(current, "gitrepository.yaml", "commit"), field(current, "terraform.yaml", "fairlead.io/inputs")
		if field(current, "terraform.yaml", "destroy") != "true" || field(current, "terraform.yaml", "approvePlan") != "" || inputs == made {
			t.Fatalf("without an approval it is destroyed, or has the inputs %s of the plan that made it", inputs)
		}
		plan := "plan-fairlead-modules-dev-" + commit[:10]
		approval := fmt.Sprintf(`{apiVersion: fairlead.io/v1alpha1, kind: PlanApproval, metadata: {name: a},
  spec: {stack: clusters/fleet-m, component: %s, plan: %s, inputs: "%s", output: "%040d"}}
`, part, plan, inputs, 0)
		approved, problems := follow(current, approval, false)
		if problems.Stops() || field(approved, "terraform.yaml", "approvePlan") != plan || field(approved, "gitrepository.yaml", "commit") != commit {
			t.Errorf("the plan is not approved: %s", golden.Problems(problems))
		}
		if again, _ := follow(approved, approval, false); again.ID() != approved.ID() {
			t.Errorf("made again from itself, it is another one:\n%s", describeDiff(again, approved))
		}
		if stale, problems := follow(approved, strings.Replace(approval, inputs, made, 1), false); problems.Stops() || field(stale, "terraform.yaml", "approvePlan") != "" {
			t.Errorf("the approval of the plan that made it stops it, or approves that it is destroyed: %s", golden.Problems(problems))
		}
		if _, problems := follow(approved, approval, true); !problems.Stops() || !strings.Contains(golden.Problems(problems), "which is not in this environment") {
			t.Errorf("an approval outlives its part: %s", golden.Problems(problems))
		}
		released, problems := follow(approved, "", true)
		if problems.Stops() || field(released, "terraform.yaml", "kind") != "" || field(released, "gitrepository.yaml", "commit") != commit || field(released, "uninstall.yaml", "kind") != "Job" {
			t.Errorf("the Terraform object does not go before its source: %s", golden.Problems(problems))
		}
		if waiting, _ := follow(released, "", false); waiting.ID() != released.ID() {
			t.Errorf("its source does not wait until it is gone:\n%s", describeDiff(waiting, released))
		}
		if last, problems := follow(released, "", true); problems.Stops() || !last.Sub("clusters/tofu/fleet-m/objects").IsEmpty() {
			t.Errorf("its objects stay: %s", golden.Problems(problems))
		}
	})
}

// describeParts returns the Kustomizations of all manifests in their order, what each waits for, whether it
// destroys, and, of a network, whether it opens the port of the API server.
func describeParts(t *testing.T, output tree.Tree) string {
	t.Helper()
	var b strings.Builder
	files := output.Sub(clusterfiles.Folder)
	for file, data := range files.All() {
		if path.Base(file) != "flux.yaml" {
			continue
		}
		decoder := yaml.NewDecoder(strings.NewReader(string(data)))
		for {
			var o applied
			if decoder.Decode(&o) != nil {
				break
			}
			fmt.Fprintf(&b, "%s %s", o.Kind, o.Metadata.Name)
			for _, d := range o.Spec.DependsOn {
				fmt.Fprintf(&b, " <- %s", d.Name)
			}
			part := path.Base(o.Spec.Path)
			if e, ok := files.Lookup(path.Join(path.Dir(file), "objects", part, "terraform.yaml")); ok && strings.Contains(string(e.Data), "destroy: true") {
				b.WriteString(" DESTROYS")
			}
			if e, ok := files.Lookup(path.Join(path.Dir(file), "modules", part, "main.tf")); ok && strings.Contains(string(e.Data), "6443") {
				b.WriteString(" has 6443")
			}
			if e, ok := files.Lookup(path.Join(path.Dir(file), "modules", part, "main.tf")); ok && strings.Contains(string(e.Data), "var.endpoint_endpoint") {
				b.WriteString(" has the load balancer as its endpoint")
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
