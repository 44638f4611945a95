package loop_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/reconcile/verify"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// feedsWorld is a chain with a workload whose manifests are in another repository of its team.
type feedsWorld struct {
	*releasesWorld
	apps *gittest.Work
}

func newFeedsWorld(t *testing.T, source, into string) *feedsWorld {
	t.Helper()
	f := &feedsWorld{releasesWorld: newReleasesWorld(t, "")}
	url := f.server.Create("till-apps")
	f.apps = f.server.Work(t, "till-apps")
	f.commitNow("main", "a feed", map[string]string{"feeds.yaml": own("Feed", "till", "{workload: till, "+strings.ReplaceAll(source, "URL", url)+", into: {"+into+"}}")})
	return f
}

// line gives what a line of the reconciler has in each environment.
func (f *feedsWorld) line(key string) string {
	f.world.Helper()
	var all []string
	for _, environment := range []string{"dev", "stage", "prod"} {
		out := gittest.Files(f.world, f.server.Dir("out"), f.head("out", environment))["cloud/till-web/reconciler.yaml"]
		_, found, _ := strings.Cut(out, key+": ")
		found, _, _ = strings.Cut(found, "\n")
		all = append(all, environment+"="+strings.Trim(found, `"`))
	}
	return strings.Join(all, " ")
}

func (f *feedsWorld) wantLine(key, want string) {
	f.world.Helper()
	if got := f.line(key); got != want {
		f.world.Fatalf("the environments have %s, want %s; the log:\n%s", got, want, f.logs.String())
	}
}

// TestFeedsOfTags: a tag of another repository is promoted, and sets the commit of the manifests.
func TestFeedsOfTags(t *testing.T) {
	f := newFeedsWorld(t, `git: {repo: "URL", tags: "v*"}, range: "<2"`, "manifests: {commit: commit}")
	all := []string{"dev", "stage", "prod"}
	commit := func(tag string) string {
		f.apps.Write("deploy/app.yaml", "version: "+tag)
		id := f.apps.Commit(tag)
		f.apps.Push()
		gittest.Git(t, f.server.Dir("till-apps"), "tag", tag, id)
		return id
	}
	one := commit("v1.0.0")
	f.run(all...)
	f.wantLine("commit", "dev="+one+" stage="+one+" prod="+one)
	two := commit("v1.1.0")
	commit("v2.0.0")
	f.run()
	f.wantLine("commit", "dev="+two+" stage="+one+" prod="+one)
	f.run(all...)
	f.wantLine("commit", "dev="+two+" stage="+two+" prod="+two)
	pins := gittest.Show(t, f.server.Dir(f.cp()), "prod", pinsOfTill)
	if !strings.Contains(pins, "sets:\n        manifests:\n          commit: "+two) || !strings.Contains(pins, "version: v1.1.0\n") {
		t.Errorf("prod has the pins %s", pins)
	}
}

// TestFeedsOfBranches: a version goes on once its commit is on the branch of the next environment, and each environment has its own.
func TestFeedsOfBranches(t *testing.T) {
	f := newFeedsWorld(t, `git: {repo: "URL", branch: "{environment}", version: {trailer: App-Version}}, range: "<2"`, "manifests: {commit: commit, tag: version}")
	all := []string{"dev", "stage", "prod"}
	generate := func(version string, environments ...string) {
		for _, environment := range environments {
			gittest.Git(t, f.apps.Dir, "checkout", "--quiet", "-B", environment)
			f.apps.Write("deploy/app.yaml", version+" in "+environment)
			f.apps.Commit("Generate it\n\nApp-Version: " + version)
			gittest.Git(t, f.apps.Dir, "push", "--quiet", "--force", "origin", environment)
		}
	}
	head := func(environment string) string { return f.head("till-apps", environment) }
	generate("1.4.1", all...)
	f.run(all...)
	f.wantLine("tag", "dev=1.4.1 stage=1.4.1 prod=1.4.1")
	generate("1.4.2", "dev", "stage")
	old := head("prod")
	f.run(all...)
	f.wantLine("tag", "dev=1.4.2 stage=1.4.2 prod=1.4.1")
	prod, _ := f.stage("prod").FindRelease("till")
	if prod.Next != "till-2" || prod.State != status.StageVerified || prod.Verdict.Gate != "available" {
		t.Errorf("prod is %+v", prod)
	}
	generate("1.4.2", "prod")
	f.run(all...)
	f.wantLine("commit", "dev="+head("dev")+" stage="+head("stage")+" prod="+head("prod"))
	if head("prod") == old {
		t.Error("prod has the commit of before")
	}
	before := head("prod")
	generate("2.0.0", all...)
	f.run(all...)
	if f.line("commit") == "" || !strings.HasSuffix(f.line("commit"), "prod="+before) {
		t.Errorf("a version out of the range was taken: %s", f.line("commit"))
	}
}

// shelf is a registry with images, whose answers can be made to fail.
type shelf struct {
	t      *testing.T
	server *httptest.Server
	asked  atomic.Int64
	fail   atomic.Int64 // status of all answers
	lost   atomic.Value // a tag that cannot be read
	hung   sync.RWMutex // locked while nothing is answered
}

func newShelf(t *testing.T) *shelf {
	s := &shelf{t: t}
	s.lost.Store("")
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		s.hung.RLock()
		defer s.hung.RUnlock()
		lost := s.lost.Load().(string)
		switch status := int(s.fail.Load()); {
		case status != 0:
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(status)
		case lost != "" && strings.HasSuffix(r.URL.Path, "/manifests/"+lost):
			w.WriteHeader(http.StatusNotFound)
		default:
			images.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.server.Close)
	return s
}

func (s *shelf) repo() string { return strings.TrimPrefix(s.server.URL, "http://") + "/shop/till" }

func (s *shelf) push(tag string) (digest string) {
	s.t.Helper()
	image, err := random.Image(16, 1)
	if err == nil {
		err = crane.Push(image, s.repo()+":"+tag)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	id, err := image.Digest()
	if err != nil {
		s.t.Fatal(err)
	}
	return id.String()
}

func newShelfWorld(t *testing.T, s *shelf, source, into string) *feedsWorld {
	f := newFeedsWorld(t, strings.ReplaceAll(source, "REPO", s.repo()), into)
	f.daemon.Close()
	f.more += "feeds: {allow: [" + s.repo() + "], every: 1m}\n"
	f.daemon = f.begin(f.data)
	return f
}

func (f *feedsWorld) problems() int { return len(f.store.Snapshot().Chain.Problems) }

// TestFeedsOfImages: a tag of an image is promoted with its digest; one that cannot be read is left out, one that moved is not taken,
// a registry that is down stops nothing, and quiet rounds ask once for each interval.
func TestFeedsOfImages(t *testing.T) {
	s := newShelf(t)
	one := s.push("1.4.1")
	f := newShelfWorld(t, s, "image: {repo: REPO}", "images: till, manifests: {version: tag}")
	all := []string{"dev", "stage", "prod"}
	f.run(all...)
	f.wantLine("digest", "dev="+one+" stage="+one+" prod="+one)
	f.wantLine("newTag", "dev=1.4.1 stage=1.4.1 prod=1.4.1")
	two := s.push("1.4.2")
	s.push("1.4")
	s.push("1.5.0-rc.1")
	s.push("latest")
	f.run()
	f.wantLine("digest", "dev="+two+" stage="+one+" prod="+one)
	s.push("1.4.3")
	s.lost.Store("1.4.3")
	f.run(all...)
	f.wantLine("newTag", "dev=1.4.2 stage=1.4.2 prod=1.4.2")
	if f.problems() != 1 {
		t.Errorf("a tag that cannot be read: %v", f.store.Snapshot().Chain.Problems)
	}
	s.lost.Store("")
	s.fail.Store(http.StatusTooManyRequests)
	f.now = f.now.Add(10 * time.Minute)
	f.run(all...)
	f.wantLine("newTag", "dev=1.4.2 stage=1.4.2 prod=1.4.2")
	failed := s.asked.Load()
	for range 30 {
		f.pass(time.Minute)
	}
	if n := s.asked.Load() - failed; n != 0 {
		t.Errorf("a registry that asks to wait an hour is asked %d times in half of one", n)
	}
	s.fail.Store(0)
	f.now = f.now.Add(time.Hour)
	f.run(all...)
	f.wantLine("newTag", "dev=1.4.3 stage=1.4.3 prod=1.4.3")
	three := f.line("digest")
	s.push("1.4.3")
	f.now = f.now.Add(time.Hour)
	f.run(all...)
	f.wantLine("digest", three)
	if f.problems() != 1 {
		t.Errorf("a tag that moved: %v", f.store.Snapshot().Chain.Problems)
	}
	heads, asked := fmt.Sprint(f.heads()), s.asked.Load()
	for range 20 {
		f.pass(time.Minute)
	}
	if now := fmt.Sprint(f.heads()); now != heads {
		t.Errorf("nothing is new, and the branches went from %s to %s", heads, now)
	}
	if n := s.asked.Load() - asked; n > 20+2 { // and the digest of the tag every ten minutes
		t.Errorf("20 rounds made %d requests", n)
	}
}

// TestFeedsOfSlowRegistry: while a registry does not answer, the base is promoted and releases stay; its answer begins a round.
func TestFeedsOfSlowRegistry(t *testing.T) {
	s := newShelf(t)
	one := s.push("1.4.1")
	f := newShelfWorld(t, s, "image: {repo: REPO}", "images: till")
	all := []string{"dev", "stage", "prod"}
	f.run(all...)
	f.daemon.Close()
	two := s.push("1.4.2")
	s.hung.Lock()
	f.daemon = f.begin(f.data, func(o *loop.Options) { o.Patience = time.Millisecond })
	before := f.records(nil, all...)
	f.commitNow("main", "another commit", map[string]string{"more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"})
	f.run(all...)
	if f.records(nil, all...) == before {
		t.Error("the base is not promoted")
	}
	f.wantLine("digest", "dev="+one+" stage="+one+" prod="+one)
	s.hung.Unlock()
	f.runUntil(func() {}, func(status.Snapshot) bool { return f.line("digest") == "dev="+two+" stage="+one+" prod="+one })
}

// TestFeedsOfCharts: the version of a chart is promoted, and stays if it is withdrawn later.
func TestFeedsOfCharts(t *testing.T) {
	var versions atomic.Value
	versions.Store([]string{"27.0.0"})
	charts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "apiVersion: v1\nentries:\n  till:\n")
		for _, v := range versions.Load().([]string) {
			fmt.Fprintf(w, "  - version: %s\n    digest: %064d\n", v, 1)
		}
	}))
	t.Cleanup(charts.Close)
	f := newFeedsWorld(t, `chart: {repo: "`+charts.URL+`", name: till}, range: "^27"`, "manifests: {tag: version}")
	f.daemon.Close()
	f.more += "feeds: {allow: [" + strings.TrimPrefix(charts.URL, "http://") + "], every: 1m}\n"
	f.daemon = f.begin(f.data)
	all := []string{"dev", "stage", "prod"}
	f.run(all...)
	f.wantLine("tag", "dev=27.0.0 stage=27.0.0 prod=27.0.0")
	versions.Store([]string{"28.0.0", "27.1.0", "27.0.0"})
	f.run(all...)
	f.wantLine("tag", "dev=27.1.0 stage=27.1.0 prod=27.1.0")
	versions.Store([]string{"27.0.0"})
	f.run(all...)
	f.wantLine("tag", "dev=27.1.0 stage=27.1.0 prod=27.1.0")
	if f.problems() != 1 {
		t.Errorf("a version that was withdrawn: %v", f.store.Snapshot().Chain.Problems)
	}
}

// TestFeedsVerified: an output with pins of an image is rendered again from its commits, without the registry and the releases.
func TestFeedsVerified(t *testing.T) {
	s := newShelf(t)
	s.push("1.4.1")
	f := newShelfWorld(t, s, "image: {repo: REPO}", "images: till, values: {TILL_TAG: tag}")
	all := []string{"dev", "stage", "prod"}
	f.run(all...)
	f.wantLine("newTag", "dev=1.4.1 stage=1.4.1 prod=1.4.1")
	config := gittest.Show(t, f.server.Dir("out"), "prod", "cloud/till-web/platform-config.yaml")
	if !strings.Contains(config, "TILL_TAG: 1.4.1") {
		t.Errorf("prod has the values %s", config)
	}
	s.server.Close()
	gittest.Git(t, f.server.Dir(f.cp()), "branch", "--quiet", "-D", "releases/till")
	remote, err := git.NewRemote(git.RemoteOptions{URL: f.server.PeopleURL("out"), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, environment := range all {
		results, err := verify.Commit(t.Context(), remote.Mirror(), f.head("out", environment), func(context.Context, string) (*source.Source, error) {
			return source.Open(t.Context(), source.Options{ControlPlane: f.place, CacheDir: t.TempDir(), Parser: model.NewParser()})
		})
		if err != nil || len(results) != 1 || results[0].Count > 0 {
			t.Errorf("%s: %+v, %v", environment, results, err)
		}
	}
}
