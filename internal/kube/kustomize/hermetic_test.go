package kustomize

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// traps notes every HTTP request, and every run of git or helm.
type traps struct {
	mu       sync.Mutex
	requests []string
	programs string // the file that the programs write their names to
}

func (tr *traps) RoundTrip(r *http.Request) (*http.Response, error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.requests = append(tr.requests, r.URL.String())
	return nil, errors.New("there is no network")
}

// sprung says what was caught since the last call.
func (tr *traps) sprung(t *testing.T) string {
	t.Helper()
	ran, err := os.ReadFile(tr.programs)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	os.Remove(tr.programs)
	caught := strings.Join(tr.requests, " ") + string(ran)
	tr.requests = nil
	return caught
}

func setTraps(t *testing.T) *traps {
	t.Helper()
	dir := t.TempDir()
	tr := &traps{programs: filepath.Join(dir, "ran")}
	for _, program := range []string{"git", "helm", "helmV3", "docker"} {
		script := "#!/bin/sh\necho " + program + " >>" + tr.programs + "\nexit 1\n"
		if err := os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	transport := http.DefaultTransport
	http.DefaultTransport = tr
	t.Cleanup(func() { http.DefaultTransport = transport })
	return tr
}

// nasty are names of things elsewhere, in the ways that krusty understands, and
// in some that a reader of names could fall for.
var nasty = []string{
	"http://example.com/a.yaml",
	"https://example.com/o/r",
	"HTTPS://example.com/o/r",
	"hTtP:example.com",
	"https:/example.com/a.yaml",
	"//example.com/o/r",
	"https://example.com/o/r?ref=main&timeout=1s",
	"https://user:secret@example.com/o/r.git",
	"ssh://git@example.com/o/r",
	"file:///etc",
	"file://" + "../..",
	"git::https://example.com/o/r",
	"GIT::git@example.com:o/r",
	"git@example.com:o/r.git//path",
	"git@example.com/o/r",
	"org-1@example.com/o/r",
	"github.com/o/r",
	"github.com:o/r",
	"GitHub.COM/o/r/path?ref=v1",
	"github.com/o/r/_git/x",
	"a.yaml\nhttps://example.com/o/r",
	" https://example.com/o/r",
	"\thttps://example.com/o/r",
	"{apiVersion: v1, kind: X}\n---\nhttps://example.com/o/r",
	"github.com/o/r # {apiVersion: builtin}",
	"'github.com/o/r'",
	"git@host/o/{apiVersion: builtin, kind: PatchTransformer, metadata: {name: a}}",
}

// places are kustomizations that name something at the mark.
var places = []string{
	"resources: [X]", "bases: [X]", "components: [X]", "crds: [X]", "configurations: [X]",
	"openapi: {path: X}",
	"patches: [{path: X}]", "patchesStrategicMerge: [X]", "patchesJson6902: [{path: X, target: {name: a, kind: ConfigMap}}]",
	"replacements: [{path: X}]",
	"configMapGenerator: [{name: a, files: [X]}]", "configMapGenerator: [{name: a, envs: [X]}]", "configMapGenerator: [{name: a, env: X}]",
	"secretGenerator: [{name: a, files: [X]}]", "secretGenerator: [{name: a, envs: [X]}]", "secretGenerator: [{name: a, env: X}]",
	"helmCharts: [{name: a, repo: X}]", "helmChartInflationGenerator: [{chartName: a, chartRepoUrl: X}]",
	"generators: [X]", "transformers: [X]", "validators: [X]",
}

func TestNothingIsReached(t *testing.T) {
	tr := setTraps(t)
	for _, place := range places {
		for _, name := range nasty {
			quoted := `"` + strings.NewReplacer("\n", `\n`, "\t", `\t`, `"`, `\"`).Replace(name) + `"`
			text := strings.ReplaceAll(place, "X", quoted)
			objects, problems := Build(appWith(t, "namePrefix: a-\n"+text), "app")
			if len(objects) > 0 || !problems.Stops() {
				t.Errorf("%s\nwas built", text)
			}
			if caught := tr.sprung(t); caught != "" {
				t.Errorf("%s\nreached %s", text, caught)
			}
		}
	}
	if _, problems := Build(appWith(t, "resources: [./github.com/o/r]"), "app"); len(problems) > 0 {
		t.Errorf("a folder of the tree: %v", problems)
	}
	if caught := tr.sprung(t); caught != "" {
		t.Errorf("a folder of the tree reached %s", caught)
	}
	for _, test := range refused {
		Build(appWith(t, test.kustomization), "app")
		if caught := tr.sprung(t); caught != "" {
			t.Errorf("%s\nreached %s", test.kustomization, caught)
		}
	}
}

// TestTrapsWork shows that krusty by itself falls into the traps.
func TestTrapsWork(t *testing.T) {
	tr := setTraps(t)
	t.Setenv("TMPDIR", t.TempDir()) // krusty leaves folders there
	for name, want := range map[string]string{
		"https://example.com/a.yaml": "https://example.com/a.yaml",
		"git@example.com:o/r.git":    "git\n",
		"github.com/o/r":             "git\n",
	} {
		disk := filesys.MakeFsInMemory()
		if err := disk.WriteFile("/app/kustomization.yaml", []byte("resources: ["+name+"]")); err != nil {
			t.Fatal(err)
		}
		if _, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, "/app"); err == nil {
			t.Errorf("krusty built %s", name)
		}
		if caught := tr.sprung(t); !strings.Contains(caught, want) {
			t.Errorf("krusty reached %q for %s, want %q: the traps are of no use", caught, name, want)
		}
	}
}
