package clusterfiles_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// TestOlderLocks: a lock of an older version does not say which credentials and which commit of the templates
// there are. What changes before it is written anew has its steps all the same, and no others.
func TestOlderLocks(t *testing.T) {
	const tag, hash = "v0.13.0", "615185c3f5b8dcd1b2ef4c9b6e2f3d8a9c0b1e2d"
	other := strings.Replace(sealedValue, "bm90", "b3Ro", 1)
	layer := func(executor, revision, value string) model.Layer {
		templates, reference := "", "# nothing\n"
		if executor == clusters.Claudie {
			templates = ", templatesRef: {name: pinned, namespace: fleet}"
			reference = "apiVersion: claudie.io/v1beta1\nkind: TemplateGitReference\nmetadata: {name: pinned, namespace: fleet}\nspec:\n" +
				"  endpoint: {url: github.com/berops/claudie-config, protocol: https}\n  commit: " + revision +
				"\n  paths: {terraformer: a, playbooks: b, configLb: c, configK8s: d, manifestsK8s: e}\n"
		}
		manifest := strings.NewReplacer("EXECUTOR", executor, "PROVIDER", templates).Replace(credentialsManifest)
		files, err := tree.FromFiles(map[string][]byte{
			"m.yaml": []byte(manifest), "s.yaml": []byte(randomSettings), "t.yaml": []byte(reference),
			"secret.yaml": []byte(secretHead + "stringData: {credentials: \"" + value + "\"}\nsops: {version: 3.9.0}\n"),
		})
		if err != nil {
			t.Fatal(err)
		}
		return model.Layer{Kind: model.Env, Name: "dev", Files: files}
	}
	for _, executor := range clusters.Executors {
		file := "clusters/" + executor + "/fleet-m/" + provision.LockFile
		before := publishFirst(t, layer(executor, tag, sealedValue))
		entry, _ := before.Lookup(file)
		state, err := provision.ParseLock(entry.Data)
		if err != nil || state.Secrets["fleet/a"] == "" {
			t.Fatalf("%s: %v: %s", executor, err, entry.Data)
		}
		state.Secrets = nil
		older, err := provision.EncodeLock(&state)
		if err != nil {
			t.Fatal(err)
		}
		before = withLock(t, before, file, older)
		for name, c := range map[string]struct{ revision, value, want string }{
			"nothing":                    {tag, sealedValue, ""},
			"other credentials":          {tag, other, "credentials"},
			"the tag by its commit":      {hash, sealedValue, ""},
			"the templates of another":   {strings.Replace(hash, "6", "7", 1), sealedValue, "nodes"},
			"both, but the same commits": {hash, other, "credentials"},
		} {
			if executor != clusters.Claudie && c.revision != tag {
				continue
			}
			m, rendered := renderAll(t, layer(executor, c.revision, c.value))
			now, _, problems := clusterfiles.FollowPrevious(m, rendered, clusterfiles.Previous{
				Tree: before, IsCarriedOut: func(clusterfiles.Carrier) bool { return false },
				TemplateHash: func(url, revision string) string {
					if url != "https://github.com/berops/claudie-config" || revision != tag {
						t.Errorf("the hash of %s of %s is asked for", revision, url)
					}
					return hash
				},
			})
			if problems.Stops() {
				t.Fatalf("%s: %s: %s", executor, name, golden.Problems(problems))
			}
			plan := describePlan(before, now)
			if !strings.Contains(plan, c.want) || c.want == "" && strings.Contains(plan, "\n  ") || c.want == "credentials" && strings.Contains(plan, "nodes") {
				t.Errorf("%s: %s: want steps about %q, got\n%s", executor, name, c.want, plan)
			}
			if c.want == "" && len(problems) > 0 {
				t.Errorf("%s: %s: %s", executor, name, golden.Problems(problems))
			}
		}
	}
}
