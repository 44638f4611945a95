package loop_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// kalypso is a control plane of Kalypso on GitHub, whose settings say what follows dev.
func kalypso(t *testing.T) (h *hub, first string) {
	t.Helper()
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/kalypso.txtar")
	if err != nil {
		t.Fatal(err)
	}
	fake := githubfake.Serve(t)
	w := &world{T: t, server: fake.Git, now: githubStart, data: t.TempDir(), writers: map[string]*writer{}, secret: map[string]string{"TOKEN": fake.Token}}
	w.place = fake.Create(githubCP)
	words := []string{"REPO", w.place, "GITOPS", fake.Create(githubOut), "LIGHTS", fake.Create("acme/lights")}
	branch := func(folder, name string) scaffold.Branch {
		files := map[string][]byte{}
		for _, f := range archive.Files {
			if file, ok := strings.CutPrefix(f.Name, folder+"/"); ok {
				files[file] = []byte(strings.TrimSuffix(strings.NewReplacer(append(words, "FIRST", first)...).Replace(string(f.Data)), "\n"))
			}
		}
		made, err := tree.FromFiles(files)
		if err != nil {
			t.Fatal(err)
		}
		return scaffold.Branch{Name: name, Message: "begin", Files: made}
	}
	w.fill(githubCP, []scaffold.Branch{branch("main", "main")})
	first = w.head(githubCP, "main")
	w.fill(githubCP, []scaffold.Branch{branch("dev", "dev"), branch("stage", "stage")})
	w.fill(githubOut, []scaffold.Branch{branch("out", "main"), branch("out", "dev"), branch("out", "stage")})
	w.fill("acme/lights", []scaffold.Branch{branch("lights", "main")})
	w.kind = "kind: github, api: \"" + fake.API() + "\""
	w.more = "write: true\nnextEnvironment: {dev: stage}\nremotes: [{url: \"" + strings.TrimSuffix(fake.Git.URL(""), "/.git") + "/\", token: {env: TOKEN}}]\n"
	return &hub{w, w.begin(w.data), fake}, first
}

// TestKalypso takes a commit through a control plane of Kalypso: the record, the label,
// the tracking file and the statuses are as its workflows make them.
func TestKalypso(t *testing.T) {
	h, first := kalypso(t)
	h.looks(2, time.Minute)
	if chain := h.store.Snapshot().Chain; chain.Inferred != "nextEnvironment of the settings" || len(chain.Problems) > 0 {
		t.Fatalf("the chain is inferred from %q, with %v", chain.Inferred, chain.Problems)
	}
	for _, environment := range []string{"dev", "stage"} {
		e := h.state(environment)
		if e.Pull == nil {
			t.Fatalf("%s is %s: %s, %v", environment, e.State, e.Reason, e.Problems)
		}
		pull := e.Pull
		if labels := h.fake.Labels(githubOut, pull.Number); len(labels) > 0 {
			t.Errorf("what promotes nothing has the labels %q", labels)
		}
		h.fake.Merge(githubOut, pull.Number, false)
	}
	h.looks(2, time.Minute)
	h.flux("dev", "success", "ready")
	h.flux("stage", "success", "ready")
	h.looks(3, 20*time.Minute)

	text := gittest.Show(t, h.server.Dir(githubCP), "main", "templates/namespace.yaml")
	second := h.commitNow("main", "level", map[string]string{"templates/namespace.yaml": strings.Replace(text, "level: first", "level: second", 1)})
	names := map[string]string{first: "1", second: "2"}
	for _, environment := range []string{"dev", "stage"} {
		record := gittest.Show(t, h.server.Dir(githubCP), environment, "base-repo.yaml")
		h.looks(2, time.Minute)
		if diff := cmp.Diff(strings.Replace(record, first, second, 1), gittest.Show(t, h.server.Dir(githubCP), environment, "base-repo.yaml")); diff != "" {
			t.Fatalf("the record of %s (-want +got):\n%s\nthe log:\n%s", environment, diff, h.logs.String())
		}
		if environment == "dev" {
			h.wantLine(names, "dev=2 stage=1")
		}
		pull := h.state(environment).Pull
		if pull == nil {
			t.Fatalf("nothing is proposed for %s", environment)
		}
		if labels := h.fake.Labels(githubOut, pull.Number); !slices.Equal(labels, []string{"promoted"}) {
			t.Errorf("the labels are %q", labels)
		}
		h.fake.Merge(githubOut, pull.Number, false)
		if got := gittest.Show(t, h.server.Dir(githubOut), environment, ".github/tracking/Promoted_Commit_Id"); got != second {
			t.Errorf("the tracking file of %s is %q, want %q", environment, got, second)
		}
		folder := map[string]string{"dev": "large/beacon-functional", "stage": "large/beacon-load"}[environment]
		files := gittest.Files(t, h.server.Dir(githubOut), environment)
		if text := files[folder+"/namespace.yaml"]; !strings.Contains(text, "level: second") {
			t.Errorf("the output of %s is %v", environment, files)
		}
		h.looks(1, time.Minute)
		h.flux(environment, "success", "ready")
		h.looks(1, 20*time.Minute)
	}
	h.wantLine(names, "dev=2 stage=2")
	want := `dev environment: pending Promoted
dev environment: pending Deploying
dev environment: success Deployed
stage environment: pending Promoted
stage environment: pending Deploying
stage environment: success Deployed`
	if diff := cmp.Diff(want, h.said(second)); diff != "" {
		t.Errorf("of the commit is said (-want +got):\n%s", diff)
	}
	h.looks(2, time.Minute)
	if calls := h.looks(3, time.Hour); !slices.Equal(calls, []int{0, 0, 0}) {
		t.Errorf("at rest it makes %v calls: %q", calls, h.last(8))
	}
}
