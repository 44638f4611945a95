package clusterfiles_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// TestCAPIFiles shows the files of manifests that Cluster API carries out.
func TestCAPIFiles(t *testing.T) {
	golden.Run(t, "testdata/capi/*.txtar", func(t *testing.T, c *golden.Case) {
		_, files, problems := renderCase(t, c)
		c.Want(t, "problems", golden.Problems(problems))
		c.Want(t, "files", golden.Files(files))
		if problems.Stops() {
			return
		}
		checkObjects(t, files)
		checkReached(t, files)
	})
}

// TestCAPIRefusals breaks a manifest that Cluster API can carry out in one way at a time.
func TestCAPIRefusals(t *testing.T) {
	golden.Run(t, "testdata/refusals/capi.txtar", func(t *testing.T, c *golden.Case) {
		sound := c.Text("sound.yaml")
		if _, problems := renderManifests(sound); len(problems) > 0 {
			t.Fatalf("the sound manifest has problems:\n%s", golden.Problems(problems))
		}
		for _, e := range c.Tree(t, "edit").Entries() {
			t.Run(e.Name, func(t *testing.T) {
				text := sound
				for edit := range strings.SplitSeq(strings.TrimSuffix(string(e.Data), "\n"), "\n-=-\n") {
					before, after, _ := strings.Cut(edit, "\n=>\n")
					if n := strings.Count(text, before); n != 1 {
						t.Fatalf("the text is there %d times:\n%s", n, before)
					}
					text = strings.Replace(text, before, after, 1)
				}
				_, problems := renderManifests(text)
				if !problems.Stops() {
					t.Error("it is not refused")
				}
				c.Want(t, "want/"+e.Name, golden.Problems(problems))
			})
		}
	})
}

const settings = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: GitOpsRepo
metadata: {name: dev}
spec: {repo: https://example.com/gull/gitops, branch: dev, path: .}
`

// renderManifests renders the clusters of an environment from one file.
func renderManifests(text string) (tree.Tree, problem.List) {
	files := tree.FromEntries([]tree.Entry{tree.File("edge.yaml", []byte(text)), tree.File("settings.yaml", []byte(settings))})
	m, problems := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: files})
	rendered, more := clusterfiles.Render(m)
	return rendered, append(problems, more...).Sorted()
}
