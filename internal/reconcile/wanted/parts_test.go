package wanted_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/wanted"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// TestReadPartsOfTemplates: each built-in template makes one object that reports.
func TestReadPartsOfTemplates(t *testing.T) {
	const repo = "https://github.com/harbor-example/gull-gitops"
	for name, want := range map[string]ledger.Part{
		"flux":          {Object: "Kustomization/flux-system/gull-main", Repo: repo, Ref: "dev", Path: "./main"},
		"flux-oci":      {Object: "Kustomization/flux-system/gull-main", Repo: "oci://ghcr.io/harbor-example/manifests/gull", Ref: "v1.4.0", Path: "./", Pinned: "v1.4.0"},
		"flux-helm":     {Object: "HelmRelease/dev-pier-gull-main/gull-main", Repo: "https://charts.example.com", Ref: "1.4.0", Path: "gull", Pinned: "1.4.0"},
		"flux-helm-oci": {Object: "HelmRelease/dev-pier-gull-main/gull-main", Repo: "oci://ghcr.io/harbor-example/charts/gull", Ref: ">=1.2.0 <2.0.0"},
		"argocd":        {Object: "Application/argocd/gull-main", Repo: repo, Ref: "dev", Path: "./main"},
		"argocd-all":    {Object: "Application/argocd/gull-main", Repo: repo, Ref: "dev", Path: "./main"},
		"rancher-fleet": {Object: "GitRepo/fleet-local/gull-main", Repo: repo, Ref: "dev", Path: "./main"},

		"rancher-fleet-all": {Object: "GitRepo/fleet-local/gull-main", Repo: repo, Ref: "v1.4.0", Path: "./main", Pinned: "v1.4.0"},
	} {
		archive, err := txtar.ParseFile(filepath.Join("..", "..", "..", "templates", "testdata", name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if f.Name != "want" {
				continue
			}
			if diff := cmp.Diff([]ledger.Part{want}, wanted.ReadParts(f.Data)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}

// TestReadPartsOfOrdered: the Kustomization that applies the objects of an ordered target is its part.
func TestReadPartsOfOrdered(t *testing.T) {
	m, _ := model.Parse("dev")
	objects := tree.File("reconciler.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: n}\n"))
	text, _, err := stackfiles.RenderOrdered(m, stackfiles.Ordered{Name: "gull-main", Folder: "pier/gull-main/objects", After: []string{"kelp-main"}}, objects)
	if err != nil {
		t.Fatal(err)
	}
	want := []ledger.Part{{Object: "Kustomization/flux-system/gull-main", Path: "./pier/gull-main/objects"}}
	if diff := cmp.Diff(want, wanted.ReadParts(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestReadParts: what a target follows, and whether that may move.
func TestReadParts(t *testing.T) {
	const commit = "0123456789012345678901234567890123456789"
	source := func(kind, ref string) string {
		return "apiVersion: source.toolkit.fluxcd.io/v1\nkind: " + kind + "\nmetadata: {name: s, namespace: n}\nspec: {url: \"https://u:p@example.com/r\", ref: {" + ref + "}}\n---\n" +
			"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: k, namespace: n}\nspec: {path: ./p, sourceRef: {kind: " + kind + ", name: s}}\n"
	}
	application := func(spec string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a, namespace: n}\nspec: {" + spec + "}\n"
	}
	kustomization := func(ref, pinned string) []ledger.Part {
		return []ledger.Part{{Object: "Kustomization/n/k", Repo: "https://example.com/r", Ref: ref, Path: "./p", Pinned: pinned}}
	}
	for _, c := range []struct {
		name, text string
		want       []ledger.Part
	}{
		{"a branch", source("GitRepository", "branch: main"), kustomization("main", "")},
		{"a tag", source("GitRepository", "tag: v1"), kustomization("v1", "v1")},
		{"a commit of a branch", source("GitRepository", "branch: main, commit: "+commit), kustomization(commit, commit)},
		{"a commit of digits", source("GitRepository", "commit: 1234567"), kustomization("1234567", "1234567")},
		{"a range of tags", source("GitRepository", `semver: ">=1.0.0"`), kustomization(">=1.0.0", "")},
		{"a range that is one version", source("GitRepository", `semver: 1.2.3`), kustomization("1.2.3", "1.2.3")},
		{"the name of a reference", source("GitRepository", "name: refs/heads/x, branch: main"), kustomization("refs/heads/x", "")},
		{"the digest of an artifact", source("OCIRepository", "tag: v1.0.0, digest: sha256:ab"), kustomization("sha256:ab", "sha256:ab")},
		{"a tag of an artifact that moves", source("OCIRepository", "tag: latest"), kustomization("latest", "")},
		{"a source elsewhere", "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: k, namespace: n}\nspec: {path: ./p, sourceRef: {kind: GitRepository, name: s}}\n",
			[]ledger.Part{{Object: "Kustomization/n/k", Path: "./p"}}},
		{"a commit for Argo CD", application("source: {repoURL: r, path: p, targetRevision: " + commit + "}"),
			[]ledger.Part{{Object: "Application/n/a", Repo: "r", Ref: commit, Path: "p", Pinned: commit}}},
		{"a chart for Argo CD", application("sources: [{repoURL: r, chart: c, targetRevision: 1.2.3}, {repoURL: other}]"),
			[]ledger.Part{{Object: "Application/n/a", Repo: "r", Ref: "1.2.3", Path: "c", Pinned: "1.2.3"}}},
		{"a range of charts for Argo CD", application("source: {repoURL: r, chart: c, targetRevision: 1.2.*}"),
			[]ledger.Part{{Object: "Application/n/a", Repo: "r", Ref: "1.2.*", Path: "c"}}},
		{"fields of another type", application("source: [1], sources: {a: b}"), []ledger.Part{{Object: "Application/n/a"}}},
		{"an object twice", application("source: {repoURL: r}") + "---\n" + application("source: {repoURL: other}"), []ledger.Part{{Object: "Application/n/a", Repo: "r"}}},
		{"other objects", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: example.com/v1\nkind: Kustomization\nmetadata: {name: a}\n", nil},
		{"no YAML", "a: [", nil},
		{"nothing", "", nil},
	} {
		if diff := cmp.Diff(c.want, wanted.ReadParts([]byte(c.text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
