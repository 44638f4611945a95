package loop_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gitlabfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestTellingFails: a token that loses the right to issues, comments, labels and statuses in the midst
// of the run takes nothing else with it: proposals go on, and problems stay problems of their
// environment, with the reason that the forge was not told.
func TestTellingFails(t *testing.T) {
	const refusal = `{"message": "Resource not accessible by personal access token"}`
	header := http.Header{"Content-Type": {"application/json"}}
	on := map[string]func(t *testing.T) (w *world, refuse func(), propose func(head string) int){
		"github": func(t *testing.T) (*world, func(), func(string) int) {
			fake := githubfake.Serve(t)
			fake.Create(githubCP)
			fake.Create(githubOut)
			w := worldOn(t, fake.Git, githubCP, githubOut, scaffold.Branches, []string{"dev", "prod"})
			w.kind, w.secret = "kind: github, api: \""+fake.API()+"\"", map[string]string{"TOKEN": fake.Token}
			return w, func() {
					for _, path := range []string{"issues", "issues/*", "issues/*/labels", "issues/*/comments", "issues/comments/*", "statuses/*", "check-runs", "labels", "labels/*"} {
						fake.Inject(githubfake.Fault{Path: "/repos/*/*/" + path, Status: http.StatusForbidden, Header: header, Body: refusal})
					}
				}, func(head string) int {
					return fake.Propose(githubCP, githubfake.Proposed{Head: head, Base: "main", Title: "mine", Body: "please"})
				}
		},
		"gitlab": func(t *testing.T) (*world, func(), func(string) int) {
			fake := gitlabfake.Serve(t)
			fake.Create(githubCP)
			fake.Create(githubOut)
			w := worldOn(t, fake.Git, githubCP, githubOut, scaffold.Branches, []string{"dev", "prod"})
			w.kind, w.secret = "kind: gitlab, api: \""+fake.API()+"\"", map[string]string{"TOKEN": fake.Token}
			return w, func() {
				for _, path := range []string{"issues", "issues/*", "merge_requests/*/notes", "merge_requests/*/notes/*", "merge_requests/*/discussions", "statuses/*", "repository/commits/*/statuses"} {
					fake.Inject(gitlabfake.Fault{Path: "/projects/*/" + path, Status: http.StatusForbidden, Header: header, Body: refusal})
				}
			}, nil
		},
	}
	for name, begin := range on {
		t.Run(name, func(t *testing.T) {
			w, refuse, propose := begin(t)
			w.more += "remotes: [{url: \"" + strings.TrimSuffix(w.server.URL(""), "/.git") + "/\", token: {env: TOKEN}}]\n"
			d := w.begin(w.data)
			d.cycle()
			d.want(map[string]status.State{"dev": status.Proposed, "prod": status.Proposed})
			first := d.state("dev").Pull
			refuse()
			w.edit("dev", "configs/environment.yaml", "debug", "info")
			w.edit("prod", "cluster-types/cloud.yaml", "kind: ClusterType", "kind: ClusterTypo")
			if propose != nil {
				gittest.Git(t, w.people.Dir, "checkout", "-qB", "change", "origin/main")
				w.people.Write("NOTES", "x\n")
				commit := w.people.Commit("a change")
				w.people.Push("+HEAD:change")
				gittest.Git(t, w.server.Dir(githubCP), "update-ref", fmt.Sprintf("refs/pull/%d/head", propose("change")), commit)
			}
			for range 3 {
				d.cycle()
				w.now = w.now.Add(time.Hour)
				d.want(map[string]status.State{"dev": status.Proposed, "prod": status.Problems})
				dev, prod := d.state("dev"), d.state("prod")
				if dev.Error != "" || dev.Pull == nil || dev.Pull.Number != first.Number || dev.Pull.Head == first.Head {
					t.Errorf("dev has %+v and the error %q; before it had %+v", dev.Pull, dev.Error, first)
				}
				if prod.Error != "" || !strings.Contains(d.problems("prod"), "ClusterTypo") || !strings.Contains(prod.Reason, "the forge could not be told") {
					t.Errorf("prod says %q, with the error %q and %v", prod.Reason, prod.Error, prod.Problems)
				}
				if text := d.store.Snapshot().ControlPlaneError; text != "" {
					t.Errorf("the control plane is said to have %s", text)
				}
			}
		})
	}
}
