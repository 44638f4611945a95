package githubfake

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestRefusesMore asks for what GitHub refuses to people who are no App, or because
// something is not there.
func TestRefusesMore(t *testing.T) {
	s, w := served(t)
	none := strings.Repeat("a", 40)
	tree := gittest.Git(t, w.Dir, "rev-parse", "dev^{tree}")
	dev := gittest.Git(t, w.Dir, "rev-parse", "dev")
	const in = "/repos/" + repo
	for name, test := range map[string]struct {
		method, path, body string
		status             int
		want               string
	}{
		"check run":           {"POST", in + "/check-runs", `{"name":"x","head_sha":"` + dev + `"}`, 403, "authenticate via a GitHub App"},
		"check run of nobody": {"PATCH", in + "/check-runs/1", `{"status":"queued"}`, 404, "Not Found"},
		"status":              {"POST", in + "/statuses/" + none, `{"state":"success"}`, 422, "No commit found for SHA: aaaa"},
		"commit":              {"GET", in + "/commits/" + none, "", 422, "No commit found for SHA: aaaa"},
		"team":                {"GET", "/orgs/acme/teams/none/members", "", 404, "Not Found"},
		"branch":              {"GET", in + "/branches/none", "", 404, "Branch not found"},
		"workflow":            {"GET", in + "/actions/workflows/none.yaml/runs", "", 404, "Not Found"},
		"tree":                {"POST", in + "/git/trees", `{"base_tree":"` + none + `","tree":[]}`, 422, "base_tree"},
		"tree without blob":   {"POST", in + "/git/trees", `{"tree":[{"path":"x","mode":"100644","type":"blob","sha":"` + none + `"}]}`, 422, "not a valid blob"},
		"tree removes":        {"POST", in + "/git/trees", `{"base_tree":"` + tree + `","tree":[{"path":"x","mode":"100644","type":"blob","sha":null}]}`, 422, "BadObjectState"},
		"commit of nothing":   {"POST", in + "/git/commits", `{"message":"x","tree":"` + none + `"}`, 422, "Tree SHA does not exist"},
		"commit on nothing":   {"POST", in + "/git/commits", `{"message":"x","tree":"` + tree + `","parents":["` + none + `"]}`, 422, "Parent SHA does not exist"},
		"ref":                 {"GET", in + "/git/ref/heads/none/x", "", 404, "Not Found"},
		"ref is there":        {"POST", in + "/git/refs", `{"ref":"refs/heads/dev","sha":"` + dev + `"}`, 422, "Reference already exists"},
		"ref to nothing":      {"POST", in + "/git/refs", `{"ref":"refs/heads/x","sha":"` + none + `"}`, 422, "Object does not exist"},
		"ref is not there":    {"PATCH", in + "/git/refs/heads/x", `{"sha":"` + dev + `"}`, 422, "Reference does not exist"},
		"ref goes nowhere":    {"PATCH", in + "/git/refs/heads/dev", `{"sha":"` + none + `"}`, 422, "Object does not exist"},
		"ref goes back":       {"PATCH", in + "/git/refs/heads/dev", `{"sha":"` + gittest.Git(t, w.Dir, "rev-parse", "main") + `"}`, 422, "not a fast forward"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := ask(t, s, test.method, test.path, test.body)
			equal(t, "status", status, test.status)
			if !strings.Contains(body, test.want) {
				t.Errorf("got %s, want %q in it", body, test.want)
			}
		})
	}
	status, body := ask(t, s, "PATCH", in+"/git/refs/heads/dev", `{"force":true,"sha":"`+gittest.Git(t, w.Dir, "rev-parse", "main")+`"}`)
	equal(t, "forced: "+body, status, 200)
}
