package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// TestConfigBounds: a config with more keys or text than an API server takes in a ConfigMap stops the environment with one
// problem of a sentence.
func TestConfigBounds(t *testing.T) {
	keys := func(n int) string {
		var all strings.Builder
		for i := range n {
			fmt.Fprintf(&all, "  K%d: v\n", i)
		}
		return all.String()
	}
	for _, c := range []struct {
		name, data string
		ok         bool
	}{
		{"10,000 keys", keys(10_000), true},
		{"10,001 keys", keys(10_001), false},
		{"a long text", "  A: " + strings.Repeat("a", 1<<20-1) + "\n", true},
		{"a longer text", "  A: " + strings.Repeat("a", 1<<20) + "\n", false},
		{"a long key", "  " + strings.Repeat("a", 1000) + ": v\n", false},
	} {
		text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: big, labels: {platform-config: \"true\"}}\ndata:\n" + c.data
		files, err := tree.FromFiles(map[string][]byte{"big.yaml": []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		_, problems := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: files})
		found := 0
		for _, p := range problems {
			if p.Subject == "ConfigMap/big" {
				found++
				if p.Pos.Line == 0 || len(p.Summary) > 500 {
					t.Errorf("%s: %.600s", c.name, p)
				}
			}
		}
		if (found == 0) != c.ok || found > 1 {
			t.Errorf("%s: %d problems", c.name, found)
		}
	}
}

// TestOutputBranch: an output branch that is nearly the name of an environment is a warning; one with that name, or another one, is not.
func TestOutputBranch(t *testing.T) {
	for branch, want := range map[string]string{"dev": "", "dve": `did you mean "dev"?`, "stage": "", "output": "", "clusters/dev": ""} {
		text := "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: dev}\nspec: {repo: https://git.example.com/out, branch: " + branch + ", path: .}\n"
		files, err := tree.FromFiles(map[string][]byte{"gitops-repo.yaml": []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		m, _ := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: files})
		got := m.CheckEnvironments([]string{"dev", "stage", "prod"})
		hint := ""
		for _, p := range got {
			hint += p.Hint
			if !p.Warning || p.Subject != "GitOpsRepo/dev" || p.Pos.File != "gitops-repo.yaml" {
				t.Errorf("%s: %s", branch, p)
			}
		}
		if hint != want {
			t.Errorf("%s: the hint is %q, want %q", branch, hint, want)
		}
	}
}
