package cli_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// ages are what differs between two answers some time after each other, with the space that they take.
var ages = regexp.MustCompile(`\b[0-9]+[smhd]\b| +`)

// TestSimulateOfDaemon: a daemon answers what the command finds with the same settings, in every format,
// and changes nothing for that.
func TestSimulateOfDaemon(t *testing.T) {
	if testing.Short() {
		t.Skip("-short starts no daemon beside the commands")
	}
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	file := filepath.Join(dir, "fairlead.yaml")
	if code, _, stderr := run(t.Context(), "init", dir, "--sample", "--environments", "dev,stage,prod"); code != 0 {
		t.Fatal(stderr)
	}
	replaceIn(t, file, "write: false", "write: true")
	replaceIn(t, file, "127.0.0.1:8080", "127.0.0.1:0")
	plane, work := filepath.Join(dir, "control-plane.git"), filepath.Join(dir, "work")
	gittest.Git(t, dir, "clone", "--quiet", plane, work)
	push := func(branch string, files map[string]string) {
		t.Helper()
		gittest.Git(t, work, "checkout", "--quiet", "-B", branch)
		for name, text := range files {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(work, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		gittest.Git(t, work, "add", "--all")
		gittest.Git(t, work, "commit", "--quiet", "--message", "change "+branch)
		gittest.Git(t, work, "push", "--quiet", "origin", branch)
	}
	freeze := func(name, spec string) map[string]string {
		return map[string]string{".fairlead/freezes/" + name + ".yaml": "apiVersion: fairlead.io/v1alpha1\nkind: Freeze\nmetadata: {name: " + name + "}\nspec: " + spec + "\n"}
	}
	first := gittest.Git(t, work, "rev-parse", "main")
	push("main", map[string]string{"README.md": "A control plane.\n"})
	push("main", freeze("fair", `{reason: the fair, environments: [prod], to: "2099-03-01T12:00:00Z"}`))
	push("aside", map[string]string{"README.md": "Not merged.\n"})
	gittest.Git(t, work, "checkout", "--quiet", "main")

	compare := func(page string, code int, words string, args ...string) {
		t.Helper()
		ours, out, errs := run(t.Context(), append([]string{"simulate", "--config", file}, args...)...)
		theirs, answer, said := run(t.Context(), append([]string{"simulate", "--url", page}, args...)...)
		if ours != code || theirs != code || ages.ReplaceAllString(out, " ") != ages.ReplaceAllString(answer, " ") || errs != said || !strings.Contains(out+errs, words) {
			t.Errorf("simulate %v: with the settings code %d\n%s%s\nof the daemon code %d\n%s%s\nwant %d with %q", args, ours, out, errs, theirs, answer, said, code, words)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	page, cycles := "", 0
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	settings, problems := config.Parse(file, text, dir, os.Getenv)
	if problems.Stops() {
		t.Fatal(problems)
	}
	var heads string
	err = daemon.Serve(ctx, daemon.Options{
		Settings: settings, Log: &strings.Builder{}, Ready: func(address string) { page = address },
		After: func(now status.Snapshot) {
			if cycles++; cycles > 10 {
				t.Errorf("it is still not at rest: %+v", now.Chain)
				stop()
				return
			}
			refs := gittest.Git(t, plane, "for-each-ref")
			switch {
			case now.Chain.Problems.Stops():
				compare(page, 3, "Freeze/bad: spec has no field", "main")
				stop()
				return
			case refs == heads: // nothing is promoted any more
				for _, format := range []string{"text", "wide", "json", "yaml", "name"} {
					compare(page, 0, "prod", first, "--output", format)
				}
				compare(page, 0, `"state": "waits"`, "main", "--output", "json")
				compare(page, 2, "the base has no revision nowhere", "nowhere")
				compare(page, 2, "is not on the base's branch main", "aside")
				if after := gittest.Git(t, plane, "for-each-ref"); after != refs {
					t.Errorf("simulations have changed\n%s\nto\n%s", refs, after)
				}
				push("main", freeze("bad", "{because: it is}"))
			}
			heads = refs
			if code, _, errs := run(t.Context(), "trigger", "--url", page); code != 0 {
				t.Error(errs)
			}
		},
	})
	if err != nil || ctx.Err() == context.DeadlineExceeded {
		t.Errorf("the daemon ended with %v, after %d cycles", err, cycles)
	}
}

// TestSimulateOfOtherServers: what is no daemon, or one that cannot simulate now, is an error with a
// remedy.
func TestSimulateOfOtherServers(t *testing.T) {
	var mu sync.Mutex
	code, body := 0, ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path != "/fairlead/api/v1/simulate" || r.URL.Query().Get("commit") != "a b&c" {
			t.Errorf("it is asked for %s", r.URL)
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}))
	defer s.Close()
	for _, test := range []struct {
		code         int
		body         string
		exit         int
		says, advice string
	}{
		{200, `not JSON`, 1, "answers what cannot be read", "--url is that of the daemon's page"},
		{400, `{"error": "the base has no revision x", "hint": "check the name"}`, 2, "the base has no revision x", "check the name"},
		{404, `{"error": "there is nothing at this address", "hint": "look around"}`, 1, "has no simulation", "update the daemon, or simulate with its settings: --config FILE"},
		{409, `{"error": "nothing is promoted", "problems": [{"pos": {"file": "p.yaml"}, "summary": "it is circular"}]}`, 3, "error: p.yaml: it is circular", ""},
		{429, `{"error": "12 simulations began within a minute", "hint": "try again in 40 s"}`, 1, "the daemon does not answer now: 12 simulations", "try again in 40 s"},
		{503, `{"error": "the first cycle has not ended yet", "hint": "try again in 60 s"}`, 1, "the first cycle has not ended yet", "try again in 60 s"},
		{503, `<html>`, 1, "answers what cannot be read", "--url is that of the daemon's page"},
		{500, ``, 1, "answers 500 Internal Server Error", "--url is that of the daemon's page"},
	} {
		mu.Lock()
		code, body = test.code, test.body
		mu.Unlock()
		exit, out, errs := run(t.Context(), "simulate", "a b&c", "--url", s.URL+"/fairlead")
		if exit != test.exit || out != "" || !strings.Contains(errs, test.says) || !strings.Contains(errs, test.advice) {
			t.Errorf("%d %s: code %d, want %d; stdout %q, stderr %s", test.code, test.body, exit, test.exit, out, errs)
		}
	}
}

// TestExplainLanesOfDaemon: a daemon says what its lanes wait for, and what others would change; one without lanes, or of an older
// version, explains the stage.
func TestExplainLanesOfDaemon(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		each := r.URL.Query().Get("each")
		switch {
		case r.URL.Path == "/api/v1/status":
			_, _ = w.Write([]byte(`{"chain": {"stages": [{"environment": "stage", "commit": "` + strings.Repeat("a", 40) + `"}, {"environment": "prod"}]}}`))
		case r.URL.Path == "/api/v1/environments/stage/lanes" && each != "templates/*":
			_, _ = w.Write([]byte(`{"environment": "stage", "lanes": [{"lane": "shop` + each + `", "state": "moves", "to": "` + strings.Repeat("b", 40) + `"}]}`))
		case each == "templates/*":
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`{"error": "nothing", "problems": [{"pos": {"file": "t.yaml"}, "summary": "it is a template"}]}`))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer s.Close()
	for _, test := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{"stage"}, 0, "shop  bbbbbbb  moves  it could move by itself"},
		{[]string{"stage", "--lanes", "workloads/*"}, 0, "shopworkloads/*  bbbbbbb  moves"},
		{[]string{"stage", "--lanes", "templates/*"}, 3, "error: t.yaml: it is a template"},
		{[]string{"prod"}, 0, "It has no commit yet"},
		{[]string{"prod", "--lanes", "workloads/*"}, 1, "does not say what lanes would change"},
	} {
		exit, out, errs := run(t.Context(), append([]string{"explain", "promotion", "--url", s.URL}, test.args...)...)
		if exit != test.exit || !strings.Contains(strings.Join(strings.Fields(out+errs), " "), strings.Join(strings.Fields(test.want), " ")) {
			t.Errorf("%q: code %d, want %d; stdout %q, stderr %s", test.args, exit, test.exit, out, errs)
		}
	}
}
