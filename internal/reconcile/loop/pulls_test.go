package loop_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forge/github"
	"github.com/fairlead-io/fairlead/internal/forge/gitlab"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gitlabfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// hosted is a world on a forge with an API, and what people do there to our pull requests.
type hosted struct {
	*world
	forge    forge.Forge // as people see it
	requests func() int
	open     func(number int, open bool)
	retarget func(number int, base string)
	copy     func(number int) // opens another one that is the same
}

// hosts are the forges that keep pull requests where no reference tells of them.
var hosts = map[string]func(t *testing.T) hosted{
	"GitHub": func(t *testing.T) hosted {
		fake := githubfake.Serve(t)
		fake.Create(githubCP)
		fake.Create(githubOut)
		w := worldOn(t, fake.Git, githubCP, githubOut, scaffold.Branches, []string{"dev"})
		w.useToken("github", fake.API(), fake.Token)
		f, err := github.New(forge.Options{Repo: githubOut, API: fake.API(), Token: constant(fake.Token), Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		return hosted{
			world: w, forge: f, requests: func() int { return len(fake.Requests()) },
			open:     func(number int, open bool) { fake.SetOpen(githubOut, number, open) },
			retarget: func(number int, base string) { fake.Retarget(githubOut, number, base) },
			copy: func(number int) {
				fake.Copies(githubOut, number, 1)
				fake.SetOpen(githubOut, fake.Newest(githubOut), true)
			},
		}
	},
	"GitLab": func(t *testing.T) hosted {
		fake := gitlabfake.Serve(t)
		fake.Create(githubCP)
		fake.Create(githubOut)
		w := worldOn(t, fake.Git, githubCP, githubOut, scaffold.Branches, []string{"dev"})
		w.useToken("gitlab", fake.API(), fake.Token)
		f, err := gitlab.New(forge.Options{Repo: githubOut, API: fake.API(), Token: constant(fake.Token), Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		return hosted{
			world: w, forge: f, requests: func() int { return len(fake.Requests()) },
			open: func(number int, open bool) {
				if open {
					fake.Reopen(githubOut, number)
				} else {
					fake.Close(githubOut, number)
				}
			},
			retarget: func(number int, base string) { fake.Retarget(githubOut, number, base) },
			copy: func(number int) {
				fake.Copies(githubOut, number, 1)
				fake.Reopen(githubOut, fake.Newest(githubOut))
			},
		}
	},
}

func constant(token string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return token, nil }
}

// useToken has the world's settings name a forge with an API.
func (w *world) useToken(kind, api, token string) {
	w.kind = "kind: " + kind + ", api: \"" + api + "\""
	w.secret = map[string]string{"TOKEN": token}
	w.more += "remotes: [{url: \"" + strings.TrimSuffix(w.server.URL(""), "/.git") + "/\", token: {env: TOKEN}}]\n"
}

// pulls gives those of dev from oldest to newest: number, state and base of each, and why
// it was closed.
func (h hosted) pulls() string {
	h.Helper()
	var lines []string
	for _, base := range []string{"dev", "other"} {
		all, err := h.forge.Pulls(context.Background(), "fairlead/dev", base)
		if err != nil {
			h.Fatal(err)
		}
		for i := len(all) - 1; i >= 0; i-- {
			lines = append(lines, strings.TrimSpace(string(all[i].State)+" "+base+" "+all[i].Reason))
		}
	}
	return strings.Join(lines, "; ")
}

// TestPullsOfPeople: what people do to our pull requests, of which no reference tells, is
// seen by the next poll.
func TestPullsOfPeople(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		act   func(h hosted, d *daemon, number int)
		state string
		pulls string
	}{
		{"closed", func(h hosted, _ *daemon, number int) { h.open(number, false) }, "declined", "closed dev"},
		{"opened again", func(h hosted, d *daemon, number int) {
			h.open(number, false)
			d.cycle()
			h.open(number, true)
		}, "proposed", "open dev"},
		{"opened again after a push", func(h hosted, d *daemon, number int) {
			h.open(number, false)
			h.edit("dev", "configs/environment.yaml", "debug", "info")
			d.cycle()
			h.open(number+1, false)
			d.cycle()
			h.open(number, true)
		}, "proposed", "open dev; closed dev"},
		{"moved to another branch", func(h hosted, _ *daemon, number int) { h.retarget(number, "other") }, "proposed",
			"open dev; closed other It is for the branch `other`, and what is on `fairlead/dev` is for `dev` alone."},
		{"opened by another daemon as well", func(h hosted, _ *daemon, number int) { h.copy(number) }, "proposed",
			"open dev; closed dev Pull request 1, which is older, proposes the same."},
		{"opened by another daemon as well, and we begin anew", func(h hosted, d *daemon, number int) {
			h.copy(number)
			d.Close()
			*d = *h.begin(h.TempDir())
		}, "proposed", "open dev; closed dev Pull request 1, which is older, proposes the same."},
	} {
		for name, host := range hosts {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				h := host(t)
				gittest.Git(t, h.server.Dir(githubOut), "branch", "other", "dev")
				d := h.begin(h.data)
				d.cycle()
				d.want(map[string]status.State{"dev": status.Proposed})
				test.act(h, d, d.state("dev").Pull.Number)
				d.cycle()
				if e := d.state("dev"); string(e.State) != test.state {
					t.Errorf("dev is %s: %s; want %s", e.State, e.Reason, test.state)
				}
				if got := h.pulls(); got != test.pulls {
					t.Errorf("the pull requests are\n%s, want\n%s", got, test.pulls)
				}
				before := h.requests()
				d.cycle()
				if n := h.requests() - before; n > 1 {
					t.Errorf("a quiet cycle makes %d calls", n)
				}
			})
		}
	}
}

// TestMergeRefused: a branch that does not let us merge is said with what to change, where
// people look, and tried again.
func TestMergeRefused(t *testing.T) {
	t.Parallel()
	fake := githubfake.Serve(t)
	fake.Create(githubCP)
	fake.Create(githubOut)
	w := worldOn(t, fake.Git, githubCP, githubOut, scaffold.Branches, []string{"dev"})
	w.useToken("github", fake.API(), fake.Token)
	w.more += "merge: {dev: direct}\n"
	const said = "Resource not accessible by integration"
	fake.Inject(githubfake.Fault{Method: "PUT", Path: "/repos/*/*/pulls/*/merge", Times: 1, Status: 403, Body: `{"message":"` + said + `"}`})
	d := w.begin(w.data)
	d.cycle()
	e := d.state("dev")
	if e.State != status.Proposed || !strings.Contains(e.Reason, said) || !strings.Contains(e.Reason, "see what the token may do") {
		t.Errorf("dev is %s: %s", e.State, e.Reason)
	}
	if !strings.Contains(w.logs.String(), said) {
		t.Error("the log does not say why")
	}
	w.now = w.now.Add(time.Minute)
	d.cycle()
	d.want(map[string]status.State{"dev": status.InSync})
}
