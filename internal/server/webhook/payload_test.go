package webhook

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the wanted parts of testdata")

// known are the repositories of the payloads in testdata, as the loop has them.
var known = []string{
	"github.com/Codertocat/Hello-World",
	"example.com/mike/diaspora", "example.com/jsmith/example", "example.com/gitlabhq/gitlab-test", "example.com/gitlab-org/gitlab-test", "192.168.64.1:3005/gitlab-org/gitlab-test",
	"localhost:3000/fleet/control-plane", "localhost:2222/fleet/app",
}

// TestPayloads sends the payloads of testdata, signed, and compares the answers and
// what the loop is told.
func TestPayloads(t *testing.T) {
	for _, f := range forgeSenders {
		file := "testdata/" + f.name + ".txtar"
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		wanted := map[string]string{}
		for _, part := range archive.Files {
			wanted[part.Name] = string(part.Data)
		}
		result := &txtar.Archive{Comment: archive.Comment}
		for _, part := range archive.Files {
			name, ok := strings.CutSuffix(part.Name, ".json")
			if !ok {
				continue
			}
			got := outcome(f.name, path.Dir(name), part.Data)
			result.Files = append(result.Files, part, txtar.File{Name: name + ".want", Data: []byte(got)})
			if diff := cmp.Diff(wanted[name+".want"], got); diff != "" && !*update {
				t.Errorf("%s: %s (-want +got):\n%s", file, name, diff)
			}
		}
		if *update {
			if err := os.WriteFile(file, txtar.Format(result), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// outcome gives the answer to a signed delivery, and the events that it caused.
func outcome(forge, event string, body []byte) string {
	b := newBox(nil)
	w := b.deliver(signed(forge, event, "", string(body)))
	out := fmt.Sprintf("%d %s\n", w.Code, strings.Join(b.counted, " "))
	for _, e := range b.events {
		out += fmt.Sprintf("%+v\n", e)
	}
	return out
}

// TestVariants changes one thing of a published payload.
func TestVariants(t *testing.T) {
	const hub, lab = `{"repository": {"clone_url": "https://github.com/Codertocat/Hello-World.git"}, `, `{"project": {"git_http_url": "http://example.com/mike/diaspora.git"}, `
	long := strings.Repeat("x", maxReferenceLength+1)
	for _, c := range []struct {
		forge, event, body string
		code               int
		want               Event
	}{
		{"github", "pull_request", hub + `"action": "closed", "number": 2, "pull_request": {"merged": true, "base": {"ref": "main"}}}`, 202, Event{Kind: Pull, Ref: "refs/heads/main", Number: 2, Action: "merged"}},
		{"github", "push", hub + `"ref": "` + long + `"}`, 202, Event{Kind: Push}},
		{"github", "push", hub + `"ref": null}`, 202, Event{Kind: Push}},
		{"github", "check_suite", hub + `"action": "completed", "check_suite": {"head_branch": null, "pull_requests": []}}`, 202, Event{Kind: Check, Action: "completed"}},
		{"github", "check_suite", hub + `"action": "completed", "check_suite": {"pull_requests": [{"number": -1}]}}`, 202, Event{Kind: Check, Action: "completed"}},
		{"github", "status", hub + `"state": "<b>\n", "branches": []}`, 202, Event{Kind: Status}},
		{"github", "check_run", hub + `"action": "completed", "check_run": null}`, 202, Event{Kind: Check, Action: "completed"}},
		{"gitea", "pull_request_comment", hub + `"action": "reviewed", "number": 3, "review": {"type": "pull_request_review_comment"}}`, 202, Event{Kind: Review, Number: 3, Action: "pull_request_review_comment"}},
		{"gitlab", "", lab + `"object_kind": "merge_request", "object_attributes": {"iid": 1, "action": "reopen"}}`, 202, Event{Kind: Pull, Number: 1, Action: "reopened"}},
		{"gitlab", "", lab + `"object_kind": "merge_request", "object_attributes": {"iid": 1, "action": "close"}}`, 202, Event{Kind: Pull, Number: 1, Action: "closed"}},
		{"gitlab", "", lab + `"object_kind": "merge_request", "object_attributes": {"iid": 1, "action": "merge", "target_branch": "main"}}`, 202, Event{Kind: Pull, Ref: "refs/heads/main", Number: 1, Action: "merged"}},
		{"gitlab", "", lab + `"object_kind": "merge_request", "object_attributes": {"iid": 1, "action": "update"}}`, 202, Event{Kind: Pull, Number: 1, Action: "edited"}},
		{"gitlab", "", lab + `"object_kind": "merge_request", "object_attributes": {"iid": 1, "action": "update", "oldrev": "da1560886d4f094c3e6c9ef40349f7d38b5d27d7"}}`, 202, Event{Kind: Pull, Number: 1, Action: "synchronize"}},
		{"gitlab", "", lab + `"object_kind": "merge_request", "object_attributes": {"iid": 1, "action": "approved"}}`, 202, Event{Kind: Review, Number: 1, Action: "approved"}},
		{"gitlab", "", lab + `"object_kind": "pipeline", "object_attributes": {"iid": 9, "ref": "v1", "tag": true, "status": "failed"}}`, 202, Event{Kind: Check, Ref: "refs/tags/v1", Action: "failed"}},
		{"gitlab", "", lab + `"object_kind": "merge_request", "object_attributes": {"iid": 1}}`, 204, Event{}},
		{"gitlab", "", lab + `"object_kind": "wiki_page", "object_attributes": {"iid": "x"}}`, 204, Event{}},
		{"gitlab", "", lab + `"object_kind": "push", "object_attributes": {"iid": "x"}}`, 400, Event{}},
		{"gitlab", "", `{}`, 204, Event{}},
		{"gitlab", "", `[]`, 400, Event{}},
		{"github", "push", `{}`, 204, Event{}},
		{"github", "push", `[]`, 400, Event{}},
		{"github", "push", ``, 400, Event{}},
		{"github", "push", hub, 400, Event{}},
		{"github", "push", "payload=%7B%22ref%22%3A%22refs%2Fheads%2Fmain%22%7D", 400, Event{}},
		{"github", "push", `{"ref": 7}`, 400, Event{}},
		{"github", "pull_request", `{"number": 1e400}`, 400, Event{}},
		{"github", "", "not read", 204, Event{}},
		{"github", "ping", "not read", 200, Event{}},
	} {
		b := newBox(nil)
		w := b.deliver(signed(c.forge, c.event, "", c.body))
		var want []Event
		if c.code == http.StatusAccepted {
			c.want.Repo = map[string]string{"github": known[0], "gitea": known[0], "gitlab": known[1]}[c.forge]
			want = []Event{c.want}
		}
		if diff := cmp.Diff(want, b.events); diff != "" || w.Code != c.code {
			t.Errorf("%s %s %.200s: %d, want %d (-want +got):\n%s", c.forge, c.event, c.body, w.Code, c.code, diff)
		}
	}
}

// FuzzParse holds what the loop relies on, whatever is sent.
func FuzzParse(f *testing.F) {
	for _, forge := range forgeSenders {
		archive, err := txtar.ParseFile("testdata/" + forge.name + ".txtar")
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			if strings.HasSuffix(part.Name, ".json") {
				f.Add(path.Dir(part.Name), part.Data)
			}
		}
	}
	kinds := []Kind{Push, Pull, Review, Check, Status}
	f.Fuzz(func(t *testing.T, name string, body []byte) {
		for _, forge := range forgeSenders {
			e, places, err := forge.parse(name, body)
			if err != nil {
				continue
			}
			if !slices.Contains(kinds, e.Kind) || e.Repo != "" || len(places) == 0 || e.Number < 0 ||
				e.Ref != "" && !strings.HasPrefix(e.Ref, "refs/") || len(e.Ref) > maxReferenceLength+len("refs/heads/") || e.Action != safeWord(e.Action) && e.Action != "" {
				t.Errorf("%s: %q gives %+v of %q", forge.name, name, e, places)
			}
		}
	})
}
