package templates_test

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/crdtest"
	"github.com/fairlead-io/fairlead/templates"
)

// layerOf is a layer with one file of testdata in it.
func layerOf(t *testing.T, kind model.LayerKind, name, file string) model.Layer {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return model.Layer{Kind: kind, Name: name, Files: tree.FromEntries([]tree.Entry{tree.File(file, text)})}
}

// TestFleet renders a fleet that uses all built-in templates, by the way that
// fairlead render goes.
func TestFleet(t *testing.T) {
	m, problems := model.Parse("dev",
		model.Layer{Kind: model.BuiltIn, Name: "built-in", Files: templates.Files()},
		layerOf(t, model.Base, "main", "fleet.yaml"),
		layerOf(t, model.Workloads, "birds", "birds.yaml"),
	)
	rendered, more := output.Render(m, nil, output.Options{})
	if all := append(append(problem.List{}, problems...), more...); len(all) > 0 {
		t.Fatal(all)
	}
	schemas, err := crdtest.Load()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	var got []string
	for file, text := range rendered.All() {
		files[file] = string(text)
		got = append(got, sealName.ReplaceAllString(file, "seal-DIGEST"))
		if path.Ext(file) != ".yaml" {
			continue
		}
		var wrong []string
		if path.Base(file) != "kustomization.yaml" {
			wrong = schemas.Check(text)
		}
		switch reconciler := path.Base(file) == "reconciler.yaml"; {
		case reconciler && strings.HasPrefix(file, "galley/"):
			wrong = checkFleet(text)
		case reconciler && strings.HasPrefix(file, "hulk/"):
			wrong = checkZarf(text)
		}
		for _, w := range wrong {
			t.Errorf("%s: %s", file, w)
		}
	}
	if diff := cmp.Diff(wantFiles(), got); diff != "" {
		t.Errorf("files: -want +got:\n%s", diff)
	}
	for clusterType, after := range map[string]string{"barge": `"kelp-main"`, "cutter": `"kelp-main"`, "drifter": `"kelp-main"`, "ketch": "kelp-main"} {
		file := clusterType + "/gull-main/reconciler.yaml"
		if !strings.Contains(files[file], "dependsOn:\n    - name: "+after+"\n") {
			t.Errorf("%s does not depend on kelp-main:\n%s", file, files[file])
		}
	}
}

// sealName matches the name of a seal, which has a digest.
var sealName = regexp.MustCompile(`seal-[0-9a-f]{10}`)

func wantFiles() []string {
	var want []string
	for _, c := range []struct{ clusterType, config string }{
		{"barge", "yaml"}, {"cutter", "sh"}, {"drifter", "yaml"}, {"ferry", "tfvars"}, {"galley", "yaml"}, {"hulk", "yaml"},
	} {
		want = append(want, c.clusterType+"/README.md")
		for _, target := range []string{"gull-main", "kelp-main"} {
			for _, file := range []string{"namespace.yaml", "platform-config." + c.config, "reconciler.yaml"} {
				want = append(want, path.Join(c.clusterType, target, file))
			}
		}
	}
	want = append(want, "ketch/README.md")
	for _, target := range []string{"gull-main", "kelp-main"} {
		for _, file := range []string{"kustomization.yaml", "namespace.yaml", "objects/reconciler.yaml", "platform-config.yaml", "reconciler.yaml", "seal-DIGEST/kustomization.yaml"} {
			want = append(want, path.Join("ketch", target, file))
		}
	}
	return want
}
