package cycle_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/githubfake"
	"github.com/fairlead-io/fairlead/internal/scaffold"
	"github.com/fairlead-io/fairlead/internal/status"
)

const (
	githubCP  = "acme/control-plane"
	githubOut = "acme/gitops"
)

// TestGitHub is the flow on GitHub: a pull request, an edit of it in place, a merge,
// quiet; with a bound on the calls.
func TestGitHub(t *testing.T) {
	t.Parallel()
	fake := githubfake.Serve(t)
	fake.Create(githubCP)
	fake.Create(githubOut)
	w := worldOn(t, fake.Git, githubCP, githubOut, scaffold.Branches, []string{"dev"})
	w.kind = "kind: github, api: \"" + fake.API() + "\""
	w.secret = map[string]string{"TOKEN": fake.Token}
	host := strings.TrimSuffix(fake.Git.URL(""), "/.git")
	w.more += "remotes: [{url: \"" + host + "/\", token: {env: TOKEN}}]\n"
	d := w.begin(w.data)
	calls := func(most int) {
		t.Helper()
		before := len(fake.Requests())
		d.cycle()
		if all := fake.Requests()[before:]; len(all) > most {
			t.Errorf("the cycle made %d calls, want at most %d: %v", len(all), most, all)
		}
	}
	calls(6)
	d.want(map[string]status.State{"dev": status.Proposed})
	first := d.state("dev").Pull
	if first == nil || first.URL == "" {
		t.Fatalf("there is no page of the pull request: %+v", first)
	}
	calls(0)
	w.edit("dev", "configs/environment.yaml", "debug", "info")
	calls(6)
	if again := d.state("dev").Pull; again == nil || again.Number != first.Number || again.Head == first.Head {
		t.Errorf("the pull request is %+v, and was %+v", again, first)
	}
	calls(0)
	fake.Merge(githubOut, first.Number, true)
	calls(6)
	d.want(map[string]status.State{"dev": status.InSync})
	calls(0)
	commit := d.state("dev").Inputs[slices.IndexFunc(d.state("dev").Inputs, func(i status.Input) bool { return i.Layer == "dev" })].Commit
	said := fake.Statuses(githubCP, commit)
	if len(said) == 0 || said[0].Context != "fairlead/dev" || said[0].State != "success" {
		t.Errorf("the statuses of the control plane's commit are %+v", said)
	}
	if strings.Contains(w.logs.String(), fake.Token) {
		t.Error("the log has the token")
	}
}

// TestUnknownForge: nobody says what the GitOps repository's host is.
func TestUnknownForge(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.kind = "kind: git}, {host: other.example, kind: git"
	w.more += "map: {\"" + w.server.URL("out") + "\": \"" + strings.Replace(w.server.URL("out"), "127.0.0.1", "localhost", 1) + "\"}\n"
	d := w.begin(w.data)
	d.cycle()
	e := d.state("dev")
	if e.State != status.Problems || !strings.Contains(e.Problems[0].Summary, "do not say what kind of forge localhost:") || e.Problems[0].Hint == "" {
		t.Errorf("the environment is %s with %v", e.State, e.Problems)
	}
}
