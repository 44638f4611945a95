package source_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// TestReachOfFolder: what is written into a control plane in a folder reaches the folders
// beside it and servers elsewhere, and nothing else of this machine, as in the daemon; what
// who runs this has named is reached.
func TestReachOfFolder(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, "hunter2", http.StatusForbidden)
	}))
	defer server.Close()
	port := server.URL[strings.LastIndexByte(server.URL, ':'):]
	parent, elsewhere := t.TempDir(), t.TempDir()
	cp := filepath.Join(parent, "cp")
	if err := os.Mkdir(cp, 0o755); err != nil {
		t.Fatal(err)
	}
	branch(t, cp, "dev", map[string]string{"ct.yaml": object("ClusterType", "c", "{reconciler: r, namespaceService: n, configType: t}")})
	branch(t, cp, "main", map[string]string{".environments/dev.yaml": environment("dev", "dev")})
	for _, folder := range []string{filepath.Join(parent, "deep", "apps"), filepath.Join(parent, "apps"), filepath.Join(parent, "cp2"), filepath.Join(cp, "inside"), elsewhere} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		branch(t, folder, "main", map[string]string{"deploy/a.yaml": object("Workload", "a", "{}")})
	}
	if err := os.Symlink(elsewhere, filepath.Join(parent, "link")); err != nil {
		t.Fatal(err)
	}
	const folder, address, refused = "is not beside the control plane", "network.allow", "may not be read"
	for name, test := range map[string]struct{ repo, mapped, want string }{
		"beside":               {parent + "/apps", "", ""},
		"below one beside":     {"file://" + parent + "/deep/apps", "", ""},
		"a longer name":        {parent + "/cp2", "", ""},
		"elsewhere":            {elsewhere, "", folder},
		"elsewhere, as a URL":  {"file://" + elsewhere, "", folder},
		"by way of one beside": {parent + "/apps/../.." + elsewhere, "", folder},
		"a link":               {parent + "/link", "", folder},
		"the parent":           {filepath.Dir(parent), "", folder},
		"the root":             {"/", "", folder},
		"in the work tree":     {cp + "/inside", "", folder},
		"relative":             {".", "", folder},
		"elsewhere, mapped":    {"https://git.example/x", elsewhere, ""},
		"loopback":             {server.URL + "/x", "", address},
		"localhost":            {"http://localhost" + port + "/x", "", address},
		"loopback over SSH":    {"ssh://git@127.0.0.1" + port + "/x", "", address},
		"metadata":             {"http://169.254.169.254/latest", "", address},
		"loopback, mapped":     {"https://git.example/x", server.URL + "/x", refused},
	} {
		t.Run(name, func(t *testing.T) {
			before := asked.Load()
			writeAll(t, cp, map[string]string{"registration.yaml": object("WorkloadRegistration", "apps", "{workload: {repo: '"+test.repo+"', branch: main, path: ./deploy}, workspace: w}")})
			run(t, cp, "add", "registration.yaml")
			run(t, cp, "commit", "-q", "--allow-empty", "-m", name)
			o := source.Options{ControlPlane: cp, CacheDir: t.TempDir(), Parser: model.NewParser()}
			if test.mapped != "" {
				o.Map = map[string]string{test.repo: test.mapped}
			}
			s, err := source.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			_, problems, err := s.ReadAt(t.Context(), "dev", source.Revisions{})
			var said []string
			for _, p := range problems {
				said = append(said, p.String())
			}
			if err != nil {
				said = append(said, err.Error())
			}
			got := strings.Join(said, "\n")
			if strings.Contains(got, "hunter2") && test.want != refused {
				t.Errorf("it repeats what the server said: %s", got)
			}
			if read := !strings.Contains(got, folder) && !strings.Contains(got, address); read != (test.want != folder && test.want != address) || !strings.Contains(got, test.want) {
				t.Errorf("want %q, got %s", test.want, got)
			}
			if asked.Load() > before && test.want != refused {
				t.Error("the server was asked")
			}
		})
	}
}

// TestReachOfClone: beside the folder that a clone was made from are its repositories too.
func TestReachOfClone(t *testing.T) {
	parent, clone := t.TempDir(), filepath.Join(t.TempDir(), "clone")
	for _, folder := range []string{"cp", "apps"} {
		if err := os.Mkdir(filepath.Join(parent, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	branch(t, filepath.Join(parent, "apps"), "main", map[string]string{"a.yaml": object("Workload", "a", "{}")})
	cp := filepath.Join(parent, "cp")
	branch(t, cp, "dev", map[string]string{"ct.yaml": object("ClusterType", "c", "{reconciler: r, namespaceService: n, configType: t}")})
	branch(t, cp, "main", map[string]string{
		".environments/dev.yaml": environment("dev", "dev"),
		"registration.yaml":      object("WorkloadRegistration", "apps", "{workload: {repo: '"+parent+"/apps', branch: main, path: .}, workspace: w}"),
	})
	run(t, parent, "clone", "-q", cp, clone)
	run(t, clone, "branch", "dev", "origin/dev")
	s, err := source.Open(t.Context(), source.Options{ControlPlane: clone, CacheDir: t.TempDir(), Parser: model.NewParser()})
	if err != nil {
		t.Fatal(err)
	}
	in, problems, err := s.ReadAt(t.Context(), "dev", source.Revisions{})
	if err != nil || problems.Stops() || len(in.Layers) != 3 {
		t.Errorf("%d layers, %v, %v", len(in.Layers), problems, err)
	}
}
