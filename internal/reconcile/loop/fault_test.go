package loop_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// newWideWorld has two environments with a GitOps repository each: dev with out, and
// a workload in till, prod with other. Its daemons wait for ten seconds: of what stalls so
// little time is lost, and a sound answer is made in it on a machine with twenty times the work.
func newWideWorld(t *testing.T) *world {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	w.more += "timeout: 10s\n"
	other, err := scaffold.GitOpsBranches(scaffold.Options{ControlPlane: w.server.URL("cp"), GitOps: w.server.Create("other"), Environments: []string{"prod"}})
	if err != nil {
		t.Fatal(err)
	}
	w.fill("other", other)
	w.edit("prod", "gitops-repo.yaml", "/out.git", "/other.git")
	w.register(w.server.Create("till"), "dev")
	team := w.server.Work(t, "till")
	team.Write("deploy/till.yaml", workload)
	team.Commit("begin")
	team.Push()
	w.build(0)
	return w
}

// build gives all environments another platform value, and moves all repositories.
func (w *world) build(n int) {
	w.Helper()
	for _, env := range []string{"dev", "prod"} {
		w.writer("cp", env).write("build.yaml", buildValue(n))
	}
	for _, repo := range []string{"till", "out"} {
		w.writer(repo, "main").write("notes.txt", fmt.Sprint(n))
	}
}

// buildValue is a platform value.
func buildValue(n int) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: 40-build\n  labels: {platform-config: \"true\"}\ndata:\n  BUILD: build-%d\n", n)
}

// has reports whether the proposal for an environment has a build.
func (w *world) has(repo, environment string, n int) bool {
	w.Helper()
	branch := "fairlead/" + environment
	if gittest.Refs(w, w.server.Dir(repo))["refs/heads/"+branch] == "" {
		return false
	}
	text := gittest.Show(w, w.server.Dir(repo), branch, "edge/hello-web/platform-config.yaml")
	return strings.Contains(text, fmt.Sprintf("BUILD: build-%d\n", n))
}

// remote gives the report of a repository.
func (d *daemon) remote(name string) status.Remote {
	d.Helper()
	for _, r := range d.store.Snapshot().Remotes {
		if r.URL == d.server.URL(name) {
			return r
		}
	}
	d.Fatalf("there is no report of %s", name)
	return status.Remote{}
}

const (
	fetching = "git-upload-pack"
	pushing  = "git-receive-pack"
)

// TestFaults: what goes wrong with one repository is said, does not stop what does
// not need it, and is over when it is over.
func TestFaults(t *testing.T) {
	for repo, cut := range map[string]int64{"cp": 200, "till": 200, "out": 60} { // an answer with commits alone is short
		t.Run(repo, func(t *testing.T) { faultsOf(t, repo, cut) })
	}
}

func faultsOf(t *testing.T, repo string, cut int64) {
	faults := []struct {
		name  string
		fault gittest.Fault
		want  string // what is said
	}{
		{"reset", gittest.Fault{Reset: true}, "cannot be reached"},
		{"reset in mid-pack", gittest.Fault{Method: "POST", Service: fetching, CutAfter: cut}, "cannot be reached"},
		{"truncated pack", gittest.Fault{Method: "POST", Service: fetching, Truncate: cut}, "the pack that was sent is not whole"},
		{"truncated list", gittest.Fault{Method: "GET", Service: fetching, Truncate: 100}, "cannot be reached"},
		{"401", gittest.Fault{Status: http.StatusUnauthorized}, "access was refused"},
		{"403", gittest.Fault{Status: http.StatusForbidden}, "access was refused"},
		{"404", gittest.Fault{Status: http.StatusNotFound}, "no such repository"},
		{"429", gittest.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"7000"}}}, "the server is busy"},
		{"500", gittest.Fault{Status: http.StatusInternalServerError, Body: "<html>sorry</html>"}, "HTTP status 500"},
		{"200 with a page", gittest.Fault{Status: http.StatusOK, Body: "<html>log in</html>"}, "cannot be reached"},
		{"stall", gittest.Fault{Method: "GET", Stall: true}, "it took too long after 10s"},
	}
	w := newWideWorld(t)
	d := w.begin(w.data)
	d.cycle()
	for i, f := range faults {
		w.build(i + 1)
		remove := w.server.Inject(repo, f.fault)
		w.now = w.now.Add(time.Hour)
		said := len(w.logs.String())
		if err := d.Cycle(t.Context()); err != nil && repo != "cp" {
			t.Errorf("%s: %v", f.name, err)
		}
		r := d.remote(repo)
		if !strings.Contains(r.Error, f.want) || r.Failures != 1 || r.NextTry.Before(w.now) {
			t.Errorf("%s: the report is %+v", f.name, r)
		}
		if log := w.logs.String()[said:]; countFailures(log, "fetch "+w.server.URL(repo), f.want) != 1 {
			t.Errorf("%s: the log is %s", f.name, log)
		}
		if repo != "cp" && !w.has("other", "prod", i+1) {
			t.Errorf("%s: prod was not served", f.name)
		}
		remove()
		d.recovers(f.name, i+1)
	}
}

// countFailures counts the lines of a log that tell people that an operation has failed, with some words.
func countFailures(log, operation, words string) (n int) {
	for line := range strings.Lines(log) {
		if strings.Contains(line, operation) && strings.Contains(line, words) && (strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR")) {
			n++
		}
	}
	return n
}

// recovers runs the cycle after a fault is gone, in which all must be well.
func (d *daemon) recovers(fault string, build int) {
	d.Helper()
	d.now = d.now.Add(time.Hour)
	d.cycle()
	if s := d.store.Snapshot(); s.ControlPlaneError != "" {
		d.Errorf("after %s: the control plane is said to have %s", fault, s.ControlPlaneError)
	}
	for env, repo := range map[string]string{"dev": "out", "prod": "other"} {
		if s := d.state(env); s.State != status.Proposed || s.Error != "" || !d.has(repo, env, build) {
			d.Errorf("after %s: %s is %s, %s; the log:\n%s", fault, env, s.State, s.Reason, d.logs.String())
		}
	}
	gittest.Git(d, d.server.Dir("out"), "fsck", "--strict", "--no-dangling")
	for _, repo := range []string{"cp", "till", "out", "other"} {
		if r := d.remote(repo); r.Error != "" || r.Failures != 0 {
			d.Errorf("after %s: the report of %s is %+v", fault, repo, r)
		}
	}
	if left, err := filepath.Glob(filepath.Join(d.data, "git", "*", "objects", "pack", "tmp_*")); err != nil || len(left) > 0 {
		d.Errorf("after %s: these files are left: %v", fault, left)
	}
	d.quiet("cp", "till", "out", "other")
}

// TestFirstContact: a repository that breaks off when it is read for the first time
// is not taken for one without branches.
func TestFirstContact(t *testing.T) {
	for _, repo := range []string{"cp", "till", "out"} {
		t.Run(repo, func(t *testing.T) {
			w := newWideWorld(t)
			remove := w.server.Inject(repo, gittest.Fault{Method: "POST", Service: fetching, CutAfter: 200})
			d := w.begin(w.data)
			for range 2 { // in the second it may be that it is not asked at all
				w.now = w.now.Add(time.Second)
				err := d.Cycle(t.Context())
				if repo == "cp" {
					if err == nil || !strings.Contains(err.Error(), "cannot be reached") {
						t.Errorf("the error is %v", err)
					}
					continue
				}
				d.want(map[string]status.State{"dev": status.Failed, "prod": status.Proposed})
				if s := d.state("dev"); !strings.Contains(s.Error, "cannot be reached") || len(w.issues("dev")) != 0 {
					t.Errorf("the error is %s, the issues are %q", s.Error, w.issues("dev"))
				}
			}
			remove()
			d.recovers("a first contact that broke off", 0)
		})
	}
}

// TestFaultsOfPushes: a push that fails, or seems to, leaves the repository as it
// was, or whole.
func TestFaultsOfPushes(t *testing.T) {
	faults := map[string]gittest.Fault{
		"refused":              {Service: pushing, Status: http.StatusForbidden},
		"500":                  {Service: pushing, Method: "POST", Status: http.StatusInternalServerError},
		"429":                  {Service: pushing, Method: "POST", Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"60"}}},
		"reset":                {Service: pushing, Method: "POST", Reset: true},
		"the answer is lost":   {Service: pushing, Method: "POST", CutAfter: 1},
		"every second is lost": {Service: pushing, Method: "POST", CutAfter: 1, Times: 1},
		"stall":                {Service: pushing, Method: "POST", Stall: true},
	}
	w := newWideWorld(t)
	d := w.begin(w.data)
	d.cycle()
	n := 0
	for name, fault := range faults {
		n++
		w.build(n)
		before := gittest.Refs(t, w.server.Dir("out"))
		remove := w.server.Inject("out", fault)
		w.now = w.now.Add(time.Hour)
		if err := d.Cycle(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !w.has("other", "prod", n) {
			t.Errorf("%s: prod was not served", name)
		}
		if fault.CutAfter == 0 { // else git has done its work
			if s := d.state("dev"); s.State != status.Failed || s.Error == "" {
				t.Errorf("%s: dev is %+v", name, s)
			}
			if after := gittest.Refs(t, w.server.Dir("out")); !maps.Equal(before, after) {
				t.Errorf("%s: the references were %v and are %v", name, before, after)
			}
		}
		remove()
		d.recovers(name, n)
	}
}

// TestPatience: a server that asks for time is given it, but for no more than an hour.
func TestPatience(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	d := w.begin(w.data)
	d.cycle()
	remove := w.server.Inject("out", gittest.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"5000"}}})
	d.cycle()
	remove()
	asked := len(w.server.Requests("out"))
	d.pass(59 * time.Minute)
	if n := len(w.server.Requests("out")) - asked; n != 0 {
		t.Errorf("it was asked %d times", n)
	}
	d.cycle()
	if r := d.remote("out"); r.Error != "" {
		t.Errorf("it is still said to have %s", r.Error)
	}
	d.quiet("cp", "out")
}

// TestPushPatience: so is one that asks for time when it is pushed to. Another commit does not end the pause.
func TestPushPatience(t *testing.T) {
	w := newWideWorld(t)
	d := w.begin(w.data)
	d.cycle()
	w.build(1)
	remove := w.server.Inject("out", gittest.Fault{Service: pushing, Method: "POST", Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"1800"}}})
	w.now = w.now.Add(time.Hour)
	if err := d.Cycle(t.Context()); err != nil {
		t.Fatal(err)
	}
	remove()
	w.build(2)
	asked := len(w.server.Requests("out"))
	d.pass(29 * time.Minute)
	for _, r := range w.server.Requests("out")[asked:] {
		if r.Service == pushing {
			t.Errorf("within the pause there was %+v", r)
		}
	}
	d.recovers("429", 2)
}

// TestPausesGrow: what fails again and again is asked less and less often, and at
// once when a pause is over.
func TestPausesGrow(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	d := w.begin(w.data)
	w.server.Inject("out", gittest.Fault{Reset: true})
	var pauses []time.Duration
	for range 10 {
		w.now = w.now.Add(time.Hour)
		if err := d.Cycle(t.Context()); err != nil {
			t.Fatal(err)
		}
		pauses = append(pauses, d.remote("out").NextTry.Sub(w.now))
		if s := d.state("dev"); s.State != status.Failed || !strings.Contains(s.Error, "cannot be reached") {
			t.Errorf("dev is %+v", s)
		}
	}
	for i, want := range []time.Duration{5, 10, 20, 40, 80, 160, 320, 600, 600, 600} {
		if pauses[i] != want*time.Second {
			t.Errorf("pause %d is %s", i+1, pauses[i])
		}
	}
}

// TestNobodyThere: serving begins though the control plane cannot be reached, and
// goes on when it comes, goes, and comes back.
func TestNobodyThere(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	target, err := url.Parse(w.server.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	front := func() (stop func()) {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: target.Host}))
		s.Listener = listener
		s.Start()
		return s.Close
	}
	w.more += "map: {\"" + w.server.URL("cp") + "\": \"http://" + address + "/cp.git\"}\n"
	d := w.begin(w.data)
	absent := func() {
		t.Helper()
		w.now = w.now.Add(time.Hour)
		err := d.Cycle(t.Context())
		s := d.store.Snapshot()
		ready, reasons := s.CheckReadiness()
		if ready || !strings.Contains(strings.Join(reasons, " "), "connection refused") {
			t.Errorf("ready is %t because of %q; the cycle's error is %v", ready, reasons, err)
		}
	}
	absent()
	if e := d.store.Snapshot().Environments; len(e) != 0 {
		t.Errorf("there are environments: %v", e)
	}
	stop := front()
	d.cycle()
	d.want(map[string]status.State{"dev": status.Proposed})
	stop()
	absent()
	d.want(map[string]status.State{"dev": status.Proposed})
	defer front()()
	d.cycle()
	if ready, reasons := d.store.Snapshot().CheckReadiness(); !ready {
		t.Errorf("it is not ready because of %q", reasons)
	}
}

// TestDamagedMirror: what is on disk may be lost or spoilt at any time.
func TestDamagedMirror(t *testing.T) {
	damages := map[string]func(dir string) error{
		"gone":           os.RemoveAll,
		"no HEAD":        func(dir string) error { return os.Remove(filepath.Join(dir, "HEAD")) },
		"no objects":     func(dir string) error { return os.RemoveAll(filepath.Join(dir, "objects")) },
		"no references":  func(dir string) error { return os.RemoveAll(filepath.Join(dir, "refs")) },
		"empty branches": func(dir string) error { return spoil("", nil)(filepath.Join(dir, "refs")) },
		"empty packs":    spoil(".pack", nil),
		"noise in packs": spoil(".pack", []byte(strings.Repeat("noise", 1000))),
		"empty indexes":  spoil(".idx", nil),
		"no settings":    func(dir string) error { return os.WriteFile(filepath.Join(dir, "config"), []byte("[noise"), 0o600) },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			w := newWideWorld(t)
			d := w.begin(w.data)
			d.cycle()
			folders, err := filepath.Glob(filepath.Join(w.data, "git", "*"))
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, dir := range folders {
				if _, err := os.Stat(filepath.Join(dir, "HEAD")); err == nil {
					n++
					if err := damage(dir); err != nil {
						t.Fatal(err)
					}
				}
			}
			if n != 4 {
				t.Fatalf("%d mirrors were spoilt", n)
			}
			w.build(1)
			for range 4 { // each repository is found to be damaged when it is read
				w.now = w.now.Add(time.Hour)
				_ = d.Cycle(t.Context())
			}
			d.recovers(name, 1)
		})
	}
}

// spoil makes files of a mirror hold something else.
func spoil(ending string, data []byte) func(dir string) error {
	return func(dir string) error {
		return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ending {
				return err
			}
			return errors.Join(os.Remove(path), os.WriteFile(path, data, 0o600))
		})
	}
}
