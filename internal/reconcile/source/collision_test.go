package source_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// TestOutputCollision: output never goes where a part of the control plane is read, in the spellings
// of one repository; beside that, in the same repository, it may.
func TestOutputCollision(t *testing.T) {
	const own = "https://git.example.com/team/fleet"
	for _, test := range []struct {
		name, repo, branch, path string
		main                     map[string]string // more files of the base
		want                     string            // what is read there; "" if nothing is
	}{
		{"its own branch", own, "dev", ".", nil, "environment dev"},
		{"a folder of it", own, "dev", "clusters", nil, "environment dev"},
		{"another environment's branch", own, "stage", ".", nil, "environment stage"},
		{"the base", own, "main", "out", nil, "the base"},
		{"another spelling", "https://git.example.com/team/fleet.git/", "main", "./out", nil, "the base"},
		{"over SSH", "git@git.example.com:team/fleet.git", "dev", ".", nil, "environment dev"},
		{"a folder that is left out", own, "main", "out", map[string]string{".sourceignore": "/out/\n"}, ""},
		{"a folder beside one that is left out", own, "main", "outside", map[string]string{".sourceignore": "/out/\n"}, "the base"},
		{"a branch of its own", own, "output", ".", nil, ""},
		{"an environment in a folder", own, "envs", "clusters/prod", nil, ""},
		{"above an environment in a folder", own, "envs", "environments", nil, "environment prod"},
		{"in an environment in a folder", own, "envs", "environments/prod/out", nil, "environment prod"},
		{"another repository", "https://git.example.com/team/out", "dev", ".", nil, ""},
		{"another server", "https://git.example.org/team/fleet", "dev", ".", nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			cp := t.TempDir()
			branch(t, cp, "dev", map[string]string{"g.yaml": object("GitOpsRepo", "dev", "{repo: '"+test.repo+"', branch: "+test.branch+", path: "+test.path+"}")})
			branch(t, cp, "stage", map[string]string{"x.txt": ""})
			branch(t, cp, "envs", map[string]string{"environments/prod/x.txt": ""})
			files := map[string]string{
				".environments/dev.yaml":   object("Environment", "dev", "{controlPlane: {repo: '"+own+"', branch: dev, path: .}}"),
				".environments/stage.yaml": object("Environment", "stage", "{controlPlane: {repo: '"+own+"', branch: stage, path: .}}"),
				".environments/prod.yaml":  object("Environment", "prod", "{controlPlane: {repo: '"+own+"', branch: envs, path: environments/prod}}"),
			}
			for name, text := range test.main {
				files[name] = text
			}
			branch(t, cp, "main", files)
			s, err := source.Open(t.Context(), source.Options{ControlPlane: own, Map: map[string]string{own: cp}, Parser: model.NewParser(), CacheDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Render(t.Context(), "dev", source.Revisions{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range r.Problems {
				if !p.Warning {
					got = append(got, p.String()+" | "+p.Hint)
				}
			}
			all := strings.Join(got, "\n")
			switch {
			case test.want == "" && all != "":
				t.Errorf("the problems are\n%s", all)
			case test.want != "" && (len(got) != 1 || !strings.HasPrefix(all, "dev/g.yaml:1: GitOpsRepo/dev: the control plane is read from branch ") || !strings.Contains(all, "("+test.want+")") || !strings.Contains(all, " | have the output go to a repository of its own")):
				t.Errorf("the problems are\n%s\nwant that of %s", all, test.want)
			}
		})
	}
}
