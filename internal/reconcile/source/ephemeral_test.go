package source_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

func ephemeral(name, spec string) string {
	return "apiVersion: fairlead.io/v1alpha1\nkind: Ephemeral\nmetadata: {name: " + name + "}\nspec: " + spec + "\n"
}

// withEphemerals is a control plane with branches that are, or should be, ephemeral
// environments.
func withEphemerals(t *testing.T) string {
	t.Helper()
	cp, _, base := controlPlane(t)
	soon := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	late := time.Now().Add(40*24*time.Hour + time.Hour).UTC().Format(time.RFC3339)
	for name, said := range map[string]string{
		"pr-7":     ephemeral("pr-7", "{from: dev, expires: "+soon+", clusterTypes: {matchLabels: {size: small}}}"),
		"stage":    ephemeral("stage", "{from: dev, expires: "+soon+"}"),
		"Big":      ephemeral("big", "{from: dev, expires: "+soon+"}"),
		"copied":   ephemeral("pr-7", "{from: dev, expires: "+soon+"}"),
		"change":   ephemeral("change", "{from: dev, expires: "+soon+"}"),
		"forever":  ephemeral("forever", "{from: dev, expires: "+late+"}"),
		"orphan":   ephemeral("orphan", "{from: dve, expires: "+soon+"}"),
		"timeless": ephemeral("timeless", "{from: dev}"),
		"other":    object("ClusterType", "x", "{}"),
		"nothing":  "",
	} {
		files := map[string]string{
			"base-repo.yaml": object("BaseRepo", "main", "{repo: "+cpURL+", branch: main, path: ., commit: "+base+"}"),
			"ct.yaml": strings.Replace(object("ClusterType", "small", "{reconciler: r, namespaceService: n, configType: t}"), "{name: small}", "{name: small, labels: {size: small}}", 1) +
				"---\n" + object("ClusterType", "large", "{reconciler: r, namespaceService: n, configType: t}"),
			"gitops-repo.yaml": object("GitOpsRepo", "out", "{repo: https://git.example.com/out, branch: ephemeral/"+name+", path: .}"),
		}
		if said != "" {
			files[".fairlead/ephemeral.yaml"] = said
		}
		if name == "pr-7" { // a stack of the environment that it is a copy of
			files["stack.yaml"] = "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: checkout-dev}\nspec: {teamName: checkout, envName: dev, components: []}\n"
		}
		branch(t, cp, "ephemeral/"+name, files)
	}
	return cp
}

// TestEphemerals finds those that there are, and says of each that is none why not.
func TestEphemerals(t *testing.T) {
	cp := t.TempDir()
	run(t, cp, "clone", "-q", "--bare", withEphemerals(t), cp)
	s, err := source.Open(context.Background(), source.Options{
		ControlPlane: cp, CacheDir: t.TempDir(), Parser: model.NewParser(), Map: map[string]string{appsURL: t.TempDir()},
	})
	if err != nil {
		t.Fatal(err)
	}
	found, problems, err := s.Ephemerals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range found {
		fmt.Fprintln(&b, e.Name, e.Settled())
		for _, p := range e.Problems {
			fmt.Fprintln(&b, " ", p)
		}
	}
	for _, p := range problems {
		fmt.Fprintln(&b, p)
	}
	want(t, b.String(),
		"change false",
		`  change/.fairlead/ephemeral.yaml: Ephemeral/change: an environment cannot have the name "change": Git has no branch fairlead/change beside fairlead/change/…, which Fairlead proposes other changes from`,
		"copied false",
		`  copied/.fairlead/ephemeral.yaml:1: Ephemeral/copied: its name is "pr-7", and that of its branch is "copied"`,
		"forever false",
		"  forever/.fairlead/ephemeral.yaml:1: Ephemeral/forever: it would live for 40 days, and 30 are the limit",
		"nothing false",
		"  nothing/.fairlead/ephemeral.yaml: Ephemeral/nothing: the branch ephemeral/nothing has no .fairlead/ephemeral.yaml",
		"orphan false",
		"  orphan/.fairlead/ephemeral.yaml:1: Ephemeral/orphan: there is no environment dve that it could be made from",
		"other false",
		"  other/.fairlead/ephemeral.yaml: Ephemeral/other: the file should hold one object of kind Ephemeral",
		"pr-7 true",
		"timeless false",
		"  timeless/.fairlead/ephemeral.yaml:4: Ephemeral/timeless: spec.expires is required",
		`ephemeral/Big/.fairlead/ephemeral.yaml: Ephemeral/Big: "Big" cannot be the name of an environment`,
		"ephemeral/stage/.fairlead/ephemeral.yaml: Ephemeral/stage: there is an environment of this name at base/.environments/edge.yaml:1",
	)
	lasting, _, err := s.Environments(t.Context())
	if err != nil || len(lasting) != 2 {
		t.Errorf("the environments that are there to stay are %v, %v", lasting, err)
	}
	r, err := s.Render(t.Context(), "pr-7", source.Revisions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Model.ClusterTypes) != 1 || r.Model.ClusterTypes[0].Name != "small" || r.Model.Environment != "dev" || r.Environment != "pr-7" {
		t.Errorf("it is rendered as %s, with %d cluster types", r.Model.Environment, len(r.Model.ClusterTypes))
	}
	if r.Model.Stacks.List != nil || !strings.Contains(fmt.Sprint(r.Problems), "pr-7/stack.yaml:1: Environment/checkout-dev: the stack checkout/dev is no part of the ephemeral environment") {
		t.Errorf("it has %d stacks, and the problems %v", len(r.Model.Stacks.List), r.Problems)
	}
	to, err := s.OutputOf(t.Context(), "pr-7")
	if err != nil || to == nil || to.Branch != "ephemeral/pr-7" {
		t.Errorf("its output goes to %v, %v", to, err)
	}
}

// TestAstray: an Ephemeral that was merged into the branch of an environment stops it.
func TestAstray(t *testing.T) {
	cp := withEphemerals(t)
	run(t, cp, "checkout", "-q", "-f", "dev")
	writeAll(t, cp, map[string]string{".fairlead/ephemeral.yaml": ephemeral("pr-6", "{from: dev, expires: 2026-01-01T00:00:00Z}")})
	run(t, cp, "add", "-A")
	run(t, cp, "commit", "-qm", "merge")
	got := show(t, source.Options{ControlPlane: cp, Base: "main", Map: map[string]string{appsURL: t.TempDir()}}, "dev", source.Revisions{})
	if line := "dev/.fairlead/ephemeral.yaml:1: Ephemeral/pr-6: only a branch ephemeral/pr-6 may have it, and this is that of dev\n"; !strings.Contains(got, line) {
		t.Errorf("it is not said: %s", got)
	}
}
