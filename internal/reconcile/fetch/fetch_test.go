package fetch_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/inside"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/fetch"
	"github.com/fairlead-io/fairlead/internal/testkit/charttest"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// buildChart is the argument with which this test is the process that renders a chart.
const buildChart = "build-chart"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == buildChart {
		if err := fetch.RunBuilder(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func newFetcher(t *testing.T, change func(*fetch.Options)) *fetch.Fetcher {
	t.Helper()
	o := fetch.Options{
		Dir: t.TempDir(), Guard: func(string) (bool, error) { return false, nil }, Builder: []string{os.Args[0], buildChart}, RenderTime: time.Minute, Patience: time.Minute, Pauses: []time.Duration{}, Now: time.Now,
	}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := fetch.New(ctx, o)
	t.Cleanup(func() {
		cancel()
		f.Wait()
	})
	return f
}

// look compares two reconcilers on cluster type "cloud".
func look(t *testing.T, f *fetch.Fetcher, old, new string) (inside.Contents, bool) {
	t.Helper()
	var sides [2]tree.Tree
	for i, text := range []string{old, new} {
		var err error
		sides[i], err = tree.FromFiles(map[string][]byte{"cloud/shop/reconciler.yaml": []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
	}
	found, isOpen := f.FindContents(t.Context(), sides[0], sides[1])
	return found[inside.Place{ClusterType: "cloud", Target: "shop"}], isOpen
}

func namesOf(t tree.Tree) []string {
	names := []string{}
	for name := range t.All() {
		names = append(names, strings.TrimPrefix(name, inside.Folder+"/"))
	}
	return names
}

func wantReason(t *testing.T, c inside.Contents, want inside.Reason) {
	t.Helper()
	if len(c.Unread) != 1 || c.Unread[0].Reason != want {
		t.Errorf("unread is %+v, want %s", c.Unread, want)
	}
}

func release(url, version string) string {
	return fmt.Sprintf(`apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: shop}
spec: {url: %q}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: shop}
spec:
  chart: {spec: {chart: shop, version: %q, sourceRef: {kind: HelmRepository, name: shop}}}
  values: {size: 3}
`, url, version)
}

const (
	deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: {{ .Release.Name }}}\nspec: {replicas: {{ .Values.size }}}\n"
	database   = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\n"
)

func TestChart(t *testing.T) {
	server := charttest.Serve(t, map[string][]byte{"1.10.0": charttest.Of(t, "1.10.0", deployment, database), "99.0.0": charttest.Of(t, "99.0.0", deployment)})
	dir := t.TempDir()
	for range 2 { // the second process has the charts in its cache
		f := newFetcher(t, func(o *fetch.Options) { o.Dir = dir })
		c, isOpen := look(t, f, release(server.URL, "1.10.0"), release(server.URL, "99.0.0"))
		if isOpen || len(c.Unread) > 0 {
			t.Fatalf("it is not complete: %+v", c.Unread)
		}
		got := [][]string{namesOf(c.Old), namesOf(c.New)}
		want := [][]string{{"HelmRelease/shop/Deployment.apps/shop.yaml", "HelmRelease/shop/StatefulSet.apps/db.yaml"}, {"HelmRelease/shop/Deployment.apps/shop.yaml"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("objects (-want +got):\n%s", diff)
		}
	}
	if n := server.Fetched.Load(); n != 2 {
		t.Errorf("charts were fetched %d times, want each once", n)
	}
}

// TestValues: another value of the same version is looked at, too.
func TestValues(t *testing.T) {
	server := charttest.Serve(t, map[string][]byte{"1.0.0": charttest.Of(t, "1.0.0", deployment, "{{ if gt (int .Values.size) 2 }}"+database+"{{ end }}")})
	old := release(server.URL, "1.0.0")
	c, _ := look(t, newFetcher(t, nil), old, strings.Replace(old, "size: 3", "size: 2", 1))
	if got, want := len(namesOf(c.Old))-len(namesOf(c.New)), 1; got != want || len(c.Unread) > 0 {
		t.Errorf("it holds %d objects less, want %d: %+v", got, want, c)
	}
}

// TestUnsure: what a version holds that another one replaces which is not what the index names, or cannot be reached, may
// be removed. The second is asked for again.
func TestUnsure(t *testing.T) {
	good := charttest.Serve(t, map[string][]byte{"1.0.0": charttest.Of(t, "1.0.0", database), "1.1.0": charttest.Of(t, "1.1.0", database)})
	isLying, asked := true, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "1.1.0") {
			asked++
			if !isLying {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			_, _ = w.Write(charttest.Of(t, "1.1.0", deployment))
			return
		}
		answer, err := http.Get(good.URL + r.URL.Path)
		if err != nil {
			t.Error(err)
			return
		}
		defer answer.Body.Close()
		_, _ = io.Copy(w, answer.Body)
	}))
	defer server.Close()
	for _, want := range []inside.Reason{inside.Digest, inside.Unreachable} {
		isLying, asked = want == inside.Digest, 0
		f := newFetcher(t, func(o *fetch.Options) { o.Pauses = []time.Duration{time.Millisecond, time.Millisecond} })
		c, _ := look(t, f, release(server.URL, "1.0.0"), release(server.URL, "1.1.0"))
		wantReason(t, c, want)
		if names := namesOf(c.Unsure); len(names) != 1 || c.Unread[0].Of != "1.1.0" {
			t.Errorf("%s: it is unsure of %v, and %q is unknown", want, names, c.Unread[0].Of)
		}
		if isLying == (asked > 1) {
			t.Errorf("%s: it was asked %d times", want, asked)
		}
	}
}

// TestHostileCharts: none of them harms this process, and each is explained.
func TestHostileCharts(t *testing.T) {
	good := charttest.Of(t, "1.0.0", deployment)
	bomb := charttest.Pack(t, map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.1.0\n", "files/zeros": strings.Repeat("\x00", 64<<20)})
	for name, test := range map[string]struct {
		packed []byte
		want   inside.Reason
		time   time.Duration
	}{
		"memory":         {charttest.Of(t, "1.1.0", `a: {{ repeat 2000000000 "x" | len }}`), inside.Failed, time.Minute},
		"no end":         {charttest.Of(t, "1.1.0", `{{ range until 100000 }}{{ range until 100000 }}{{ range until 10000 }}{{ end }}{{ end }}{{ end }}`), inside.Failed, time.Second},
		"path traversal": {charttest.Pack(t, map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.1.0\n", "/shop/../../../etc/passwd": "x"}), inside.Failed, time.Minute},
		"bomb":           {bomb, inside.Failed, time.Minute},
		"no archive":     {[]byte("text"), inside.Failed, time.Minute},
		"no YAML":        {charttest.Of(t, "1.1.0", "{a"), inside.Failed, time.Minute},
		"fails":          {charttest.Of(t, "1.1.0", `{{ fail "set it" }}`), inside.Failed, time.Minute},
		"environment":    {charttest.Of(t, "1.1.0", `a: {{ env "HOME" }}`), inside.Failed, time.Minute},
		"large":          {bytes.Repeat([]byte("x"), 11<<20), inside.TooLarge, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := charttest.Serve(t, map[string][]byte{"1.0.0": good, "1.1.0": test.packed})
			c, isOpen := look(t, newFetcher(t, func(o *fetch.Options) { o.RenderTime = test.time }), release(server.URL, "1.0.0"), release(server.URL, "1.1.0"))
			wantReason(t, c, test.want)
			if isOpen {
				t.Error("it is looked at again")
			}
		})
	}
}

// TestReasons: why a source is not looked at.
func TestReasons(t *testing.T) {
	answer := func(code int) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(code) }))
		t.Cleanup(server.Close)
		return server.URL
	}
	missing := charttest.Serve(t, map[string][]byte{"1.0.0": charttest.Of(t, "1.0.0")})
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, test := range map[string]struct {
		url    string
		change func(*fetch.Options)
		want   inside.Reason
	}{
		"401":            {answer(401), nil, inside.Private},
		"403":            {answer(403), nil, inside.Private},
		"404":            {answer(404), nil, inside.NotFound},
		"503":            {answer(503), nil, inside.Unreachable},
		"closed":         {closed.URL, nil, inside.Unreachable},
		"no version":     {missing.URL, nil, inside.NotFound},
		"this machine":   {missing.URL, func(o *fetch.Options) { o.Guard = nil }, inside.NotAllowed},
		"no such scheme": {"ftp://127.0.0.1/", nil, inside.Unsupported},
	} {
		t.Run(name, func(t *testing.T) {
			c, isOpen := look(t, newFetcher(t, test.change), release(test.url, "1.0.0"), release(test.url, "2.0.0"))
			wantReason(t, c, test.want)
			if isOpen != test.want.IsTemporary() {
				t.Errorf("isOpen is %v", isOpen)
			}
		})
	}
}

// TestCredentials: they are for their server alone.
func TestCredentials(t *testing.T) {
	packed := charttest.Of(t, "1.0.0", deployment)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("another server got the credentials")
		}
		_, _ = w.Write(packed)
	}))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, secret, _ := r.BasicAuth(); secret != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, "entries:\n  shop:\n  - version: 1.0.0\n    urls: [%q]\n  - version: 2.0.0\n    urls: [%q]\n", other.URL, other.URL)
	}))
	t.Cleanup(server.Close)
	f := newFetcher(t, func(o *fetch.Options) {
		o.Credentials = func(url string) func(context.Context) (git.Credentials, error) {
			if !strings.HasPrefix(url, server.URL) {
				return nil
			}
			return func(context.Context) (git.Credentials, error) { return git.Credentials{Secret: "secret"}, nil }
		}
	})
	c, _ := look(t, f, release(server.URL, "1.0.0"), release(server.URL, "2.0.0"))
	if len(c.Unread) > 0 {
		t.Errorf("unread: %+v", c.Unread)
	}
}

// TestSlowSource: a look does not wait for it, keeps its answer when it comes, and pauses after a
// failure.
func TestSlowSource(t *testing.T) {
	ready, asked := make(chan struct{}), atomic.Int64{}
	good := charttest.Serve(t, map[string][]byte{"1.0.0": charttest.Of(t, "1.0.0"), "2.0.0": charttest.Of(t, "2.0.0", database)})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-ready
		if asked.Add(1) <= 2 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		http.Redirect(w, r, good.URL+r.URL.Path, http.StatusFound)
	}))
	t.Cleanup(slow.Close)
	now := time.Now()
	f := newFetcher(t, func(o *fetch.Options) {
		o.Patience, o.Now = 0, func() time.Time { return now }
	})
	check := func(want inside.Reason) {
		t.Helper()
		c, isOpen := look(t, f, release(slow.URL, "1.0.0"), release(slow.URL, "2.0.0"))
		if want != "" {
			wantReason(t, c, want)
		} else if len(c.Unread) > 0 || len(namesOf(c.New)) != 1 {
			t.Errorf("%+v", c)
		}
		if isOpen != (want != "") {
			t.Errorf("isOpen is %v", isOpen)
		}
	}
	check(inside.Pending)
	check(inside.Pending)
	close(ready)
	f.Wait()
	check(inside.Unreachable)
	f.Wait()
	check(inside.Unreachable)
	if n := asked.Load(); n != 2 {
		t.Errorf("it was asked %d times before the pause was over", n)
	}
	now = now.Add(time.Hour)
	check(inside.Unreachable) // as it was, until the answer is there
	f.Wait()
	check("")
}

func TestCommit(t *testing.T) {
	server := gittest.Serve(t)
	server.Create("shop")
	work := server.Work(t, "shop")
	commit := func(files map[string]string) string {
		for name, text := range files {
			work.Write(name, text)
		}
		work.Commit("change")
		work.Push("main")
		return gittest.Commit(t, server.Dir("shop"), "main")
	}
	first := commit(map[string]string{"prod/kustomization.yaml": "resources: [db.yaml]\n", "prod/db.yaml": database})
	second := commit(map[string]string{"prod/kustomization.yaml": "resources: []\nconfigMapGenerator: [{name: shop, literals: [a=b]}]\ngeneratorOptions: {disableNameSuffixHash: true}\n"})
	third := commit(map[string]string{"prod/kustomization.yaml": "resources: [https://127.0.0.1/x.yaml]\n"})
	reconciler := func(commit, path string) string {
		return fmt.Sprintf(`apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: shop}
spec: {url: %q, ref: {commit: %s}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop}
spec: {path: %s, sourceRef: {kind: GitRepository, name: shop}}
`, server.URL("shop"), commit, path)
	}
	f := newFetcher(t, nil)
	c, _ := look(t, f, reconciler(first, "./prod"), reconciler(second, "./prod"))
	got := [][]string{namesOf(c.Old), namesOf(c.New)}
	if diff := cmp.Diff([][]string{{"Kustomization/shop/StatefulSet.apps/db.yaml"}, {"Kustomization/shop/ConfigMap/shop.yaml"}}, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	for name, test := range map[string]struct {
		to   string
		want inside.Reason
	}{
		"no commit":  {reconciler(strings.Repeat("0", 40), "./prod"), inside.NotFound},
		"no folder":  {reconciler(second, "./none"), inside.NotFound},
		"remote":     {reconciler(third, "./prod"), inside.Failed},
		"a branch":   {strings.Replace(reconciler(second, "./prod"), "commit: "+second, "branch: main", 1), inside.Range},
		"a tag name": {strings.Replace(reconciler(second, "./prod"), "commit: "+second, "tag: v1", 1), inside.Range},
	} {
		c, _ := look(t, f, reconciler(first, "./prod"), test.to)
		t.Run(name, func(t *testing.T) { wantReason(t, c, test.want) })
	}
}
