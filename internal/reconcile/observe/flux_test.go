package observe_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

var update = flag.Bool("update", false, "rewrite the wanted parts of testdata")

// TestParseFlux reads testdata/flux.txtar: files NAME.json, each followed by NAME.want,
// what is made of it.
func TestParseFlux(t *testing.T) {
	file := filepath.Join("testdata", "flux.txtar")
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]string{}
	for _, f := range archive.Files {
		wanted[f.Name] = string(f.Data)
	}
	result := &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		name, ok := strings.CutSuffix(f.Name, ".json")
		if !ok {
			continue
		}
		got := parsed(t, f.Data)
		if diff := cmp.Diff(wanted[name+".want"], got); diff != "" && !*update {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		result.Files = append(result.Files, f, txtar.File{Name: name + ".want", Data: []byte(got)})
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(result), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func parsed(t *testing.T, body []byte) string {
	t.Helper()
	e, err := observe.ParseFlux(body, "")
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

const commit = "731f7eaddfb6af01cb2173e18f0f75b0ba780ef1"

func TestRevisions(t *testing.T) {
	for revision, want := range map[string]string{
		"main@sha1:" + commit:            "main",
		"refs/heads/main@sha1:" + commit: "main",
		"feature/x@sha1:" + commit:       "feature/x",
		"a@b@sha1:" + commit:             "a@b",
		"v1.0.0@sha1:" + commit:          "v1.0.0",
		"sha1:" + commit:                 "",
		"main/" + commit:                 "main",
		"feature/x/" + commit:            "feature/x",
		commit:                           "",

		"latest@sha256:" + commit + commit[:24]: "version",
		"sha256:" + commit:                      "version",
		"main@sha1:" + commit[:39]:              "version",
		"main@sha1:" + commit + "0":             "version",
		"main@sha1:" + strings.ToUpper(commit):  "version",
		"6.5.4":                                 "version",
		"6.5.4+" + commit[:12]:                  "version",
		"main@sha1:" + commit + "\\n":           "none",
		strings.Repeat("x", 300) + "/" + commit: "none",
		"":                                      "none",
	} {
		e, err := observe.ParseFlux([]byte(`{"involvedObject": {"kind": "Kustomization", "name": "a"}, "severity": "info", "timestamp": "2026-11-21T12:00:00Z",
			"metadata": {"revision": "`+revision+`"}}`), "")
		switch {
		case want == "none":
			if !errors.Is(err, observe.ErrNoReport) {
				t.Errorf("%s is %s of %s, %v", revision, e.Commit, e.Branch, err)
			}
		case want == "version":
			if err != nil || e.Version != revision || e.Branch+e.Commit != "" {
				t.Errorf("%s is %+v, %v", revision, e, err)
			}
		case err != nil || e.Branch != want || e.Commit != commit || e.Version != "":
			t.Errorf("%s is %s of %q, %v; want %q", revision, e.Commit, e.Branch, err, want)
		}
	}
}

// FuzzParseFlux holds what is relied on, whatever is sent.
func FuzzParseFlux(f *testing.F) {
	archive, err := txtar.ParseFile(filepath.Join("testdata", "flux.txtar"))
	if err != nil {
		f.Fatal(err)
	}
	for _, part := range archive.Files {
		if strings.HasSuffix(part.Name, ".json") {
			f.Add(part.Data)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := observe.ParseFlux(body, "")
		if err != nil {
			return
		}
		named := e.Commit != "" || e.Version != "" || e.Runs != ""
		if len(e.Commit) != 40 && e.Commit != "" || !named && e.Phase != rollout.Failed || e.Cluster == "" || e.When.IsZero() || e.When.Location() != time.UTC || strings.Contains(e.Message, "\n") ||
			len(e.Cluster)+len(e.Object)+len(e.Environment)+len(e.ClusterType)+len(e.Version)+len(e.Runs)+len(e.Message) > 4000 {
			t.Errorf("%+v", e)
		}
	})
}
