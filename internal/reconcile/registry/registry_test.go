package registry

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/fairlead-io/fairlead/internal/base/panics"
)

// world is a server whose requests are counted, and a client whose clock is the test's.
type world struct {
	*testing.T
	server *httptest.Server
	client *Client
	now    time.Time
	asked  atomic.Int64
}

func newWorld(t *testing.T, h http.Handler, paths ...string) *world {
	w := &world{T: t, now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.asked.Add(1)
		h.ServeHTTP(rw, r)
	}))
	t.Cleanup(w.server.Close)
	var allow []string
	for _, p := range append(paths, "") {
		if p != "" || len(paths) == 0 {
			allow = append(allow, w.host()+p)
		}
	}
	w.client = New(Options{Allow: allow, Every: time.Minute, Now: func() time.Time { return w.now }})
	return w
}

func (w *world) host() string { return strings.TrimPrefix(w.server.URL, "http://") }

func (w *world) pushImage(reference string) string {
	w.Helper()
	image, err := random.Image(16, 1)
	if err != nil {
		w.Fatal(err)
	}
	if err := crane.Push(image, w.host()+reference, crane.WithTransport(http.DefaultTransport)); err != nil {
		w.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		w.Fatal(err)
	}
	return digest.String()
}

// TestTags: tags and digests are those of the registry; what is known is used for a while, and then one request tells whether
// anything is new.
func TestTags(t *testing.T) {
	w := newWorld(t, registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	ctx := t.Context()
	digest := w.pushImage("/shop/cart:1.4.2")
	tags, err := w.client.Tags(ctx, w.host()+"/shop/cart")
	if err != nil || !slices.Equal(tags, []string{"1.4.2"}) {
		t.Fatalf("the tags are %q, %v", tags, err)
	}
	got, err := w.client.Digest(ctx, w.host()+"/shop/cart", "1.4.2", false)
	if err != nil || got != digest {
		t.Fatalf("the digest is %q, %v, want %s", got, err, digest)
	}
	before := w.asked.Load()
	for range 10 {
		if w.client.Poll(ctx) {
			t.Fatal("nothing is new")
		}
	}
	if w.asked.Load() != before {
		t.Error("what is known is asked again")
	}
	w.now = w.now.Add(time.Minute)
	if w.client.Poll(ctx) || w.asked.Load() != before+1 {
		t.Errorf("a quiet interval takes %d requests", w.asked.Load()-before)
	}
	w.pushImage("/shop/cart:1.4.3")
	w.now = w.now.Add(time.Minute)
	if !w.client.Poll(ctx) {
		t.Error("a new tag is not noticed")
	}
	moved := w.pushImage("/shop/cart:1.4.2")
	w.now = w.now.Add(10 * time.Minute)
	if !w.client.Poll(ctx) {
		t.Error("a tag that moved is not noticed")
	}
	got, err = w.client.Digest(ctx, w.host()+"/shop/cart", "1.4.2", false)
	if err != nil || got != moved {
		t.Errorf("the digest is %q, %v, want %s", got, err, moved)
	}
	var unreadable *UnreadableError
	if _, err := w.client.Digest(ctx, w.host()+"/shop/cart", "9.9.9", false); !errors.As(err, &unreadable) {
		t.Errorf("a tag that does not exist: %v", err)
	}
	w.client.EndReading()
	w.client.EndReading()
	before = w.asked.Load()
	w.now = w.now.Add(time.Hour)
	if w.client.Poll(ctx) || w.asked.Load() != before {
		t.Error("what nobody reads is asked")
	}
}

// TestAllowed: hosts, and paths on them, that the settings do not allow are not asked; nor is the place where a registry says that
// tokens are.
func TestAllowed(t *testing.T) {
	elsewhere := newWorld(t, http.NotFoundHandler())
	w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://%s/token",service="s"`, elsewhere.host()))
		rw.WriteHeader(http.StatusUnauthorized)
	}), "/shop")
	for _, repo := range []string{w.host() + "/shopping/cart", w.host() + "/cart", elsewhere.host() + "/shop/cart"} {
		var refused *NotAllowedError
		if _, err := w.client.Tags(t.Context(), repo); !errors.As(err, &refused) {
			t.Errorf("%s: %v", repo, err)
		}
	}
	if w.asked.Load() != 0 {
		t.Errorf("%d requests were sent", w.asked.Load())
	}
	if _, err := w.client.Tags(t.Context(), w.host()+"/shop/cart"); err == nil || elsewhere.asked.Load() != 0 {
		t.Errorf("another host was asked for a token: %v", err)
	}
}

// TestRetryAfter: a host that asks to wait is left alone until then, and one that fails for longer each time.
func TestRetryAfter(t *testing.T) {
	failing := http.StatusTooManyRequests
	w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Retry-After", "600")
		rw.WriteHeader(failing)
	}))
	ask := func() int64 {
		before := w.asked.Load()
		if _, err := w.client.Tags(t.Context(), w.host()+"/shop/cart"); err == nil {
			t.Error("there are tags")
		}
		return w.asked.Load() - before
	}
	if ask() == 0 {
		t.Fatal("it was not asked")
	}
	for range 9 {
		w.now = w.now.Add(time.Minute)
		if n := ask(); n != 0 {
			t.Errorf("it was asked %d times before it wanted to be", n)
		}
	}
	w.now = w.now.Add(time.Minute)
	if ask() == 0 {
		t.Error("it is never asked again")
	}
}

// TestSlowHost: a host that does not answer delays neither a round nor what another host says; its answer is told when it is there, and
// meanwhile what it said before is used.
func TestSlowHost(t *testing.T) {
	release := make(chan struct{})
	tags := func(list string) func(http.ResponseWriter, *http.Request) {
		return func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprintf(rw, `{"tags": [%s]}`, list) }
	}
	fast := newWorld(t, http.HandlerFunc(tags(`"1.0.0"`)))
	var slowly atomic.Bool
	slow := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if slowly.Load() {
			<-release
			tags(`"2.0.0"`)(rw, r)
			return
		}
		tags(`"1.0.0"`)(rw, r)
	}))
	woken := make(chan struct{}, 1)
	c := New(Options{Allow: []string{fast.host(), slow.host()}, Every: time.Minute, Now: func() time.Time { return slow.now }})
	ask := func(w *world, i int) ([]string, error) {
		return c.Tags(t.Context(), fmt.Sprintf("%s/shop/%d", w.host(), i))
	}
	const many = 3
	for i := range many {
		if _, err := ask(slow, i); err != nil {
			t.Fatal(err)
		}
	}
	WaitNoLonger(c, time.Millisecond, panics.Barrier{}, func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	slowly.Store(true)
	slow.now = slow.now.Add(time.Minute)
	if c.Poll(t.Context()) {
		t.Error("there is news before there is an answer")
	}
	for i := range many {
		if got, err := ask(slow, i); err != nil || !slices.Equal(got, []string{"1.0.0"}) {
			t.Errorf("the tags of %d are %q, %v", i, got, err)
		}
	}
	var unanswered *UnansweredError
	if _, err := ask(slow, many); !errors.As(err, &unanswered) {
		t.Errorf("without any answer: %v", err)
	}
	if _, err := ask(fast, 0); err != nil { // in time or not
		<-woken
		c.Poll(t.Context())
	}
	if got, err := ask(fast, 0); err != nil || !slices.Equal(got, []string{"1.0.0"}) {
		t.Errorf("the other host says %q, %v", got, err)
	}
	close(release)
	for changed := 0; changed <= many; {
		<-woken
		c.Poll(t.Context())
		changed = 0
		for i := range many + 1 {
			if got, err := ask(slow, i); err == nil && slices.Equal(got, []string{"2.0.0"}) {
				changed++
			}
		}
	}
	if c.Poll(t.Context()) {
		t.Error("what was read is news")
	}
	c.Close()
}

// TestFailuresAtOnce: requests that fail at the same time are one failure.
func TestFailuresAtOnce(t *testing.T) {
	h := &hosts{client: New(Options{Now: func() time.Time { return time.Unix(0, 0) }}), all: map[string]*host{"a": {}}}
	for range maxParallel {
		h.record("a", nil, io.EOF)
	}
	if pause := h.all["a"].pause; !pause.Equal(time.Unix(0, 0).Add(firstPause)) {
		t.Errorf("it is not asked until %s", pause.UTC())
	}
}

// TestHostilePages: pages without an end, and those that are too large, are errors.
func TestHostilePages(t *testing.T) {
	for name, page := range map[string]func(rw http.ResponseWriter, n int){
		"the same page": func(rw http.ResponseWriter, _ int) { fmt.Fprint(rw, `{"tags": ["1.0.0"]}`) },
		"a large page":  func(rw http.ResponseWriter, _ int) { fmt.Fprintf(rw, `{"tags": ["%s"]}`, strings.Repeat("x", maxPage)) },
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v2/" {
					return
				}
				n++
				rw.Header().Set("Link", fmt.Sprintf(`</v2/shop/cart/tags/list?last=%d>; rel="next"`, n))
				page(rw, n)
			}))
			if tags, err := w.client.Tags(t.Context(), w.host()+"/shop/cart"); err == nil {
				t.Errorf("%d tags", len(tags))
			}
		})
	}
}

const indexText = `apiVersion: v1
entries:
  other:
  - version: 9.9.9
    digest: 00
  prometheus:
  - apiVersion: v2
    description: |
      entries:
        prometheus:
    digest: aa11
    version: 27.1.0
  - digest: bb22
    version: 27.0.0
  zulu:
  - version: 8.8.8
generated: "2026-01-01T00:00:00Z"
`

// TestCharts: the versions of one chart come from the index, which is not sent again while it is the same.
func TestCharts(t *testing.T) {
	text, full := indexText, 0
	w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		etag := fmt.Sprintf("%q", fmt.Sprint(len(text)))
		rw.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			rw.WriteHeader(http.StatusNotModified)
			return
		}
		full++
		fmt.Fprint(rw, text)
	}))
	ctx := t.Context()
	got, err := w.client.Charts(ctx, w.server.URL+"/charts", "prometheus")
	if want := []Chart{{"27.1.0", "aa11"}, {"27.0.0", "bb22"}}; err != nil || !slices.Equal(got, want) {
		t.Fatalf("the versions are %v, %v, want %v", got, err, want)
	}
	for range 3 {
		w.now = w.now.Add(time.Minute)
		if w.client.Poll(ctx) {
			t.Error("nothing is new")
		}
	}
	if full != 1 || w.asked.Load() != 4 {
		t.Errorf("the index was sent %d times, in %d requests", full, w.asked.Load())
	}
	text = strings.Replace(text, "  - digest: bb22\n    version: 27.0.0\n", "", 1)
	w.now = w.now.Add(time.Minute)
	if !w.client.Poll(ctx) {
		t.Error("a version that is gone is not noticed")
	}
	if _, err := w.client.Charts(ctx, w.server.URL+"/charts", "nothing"); err == nil {
		t.Error("a chart that does not exist has versions")
	}
}

// FuzzIndex checks that hostile indexes end in an error or a list.
func FuzzIndex(f *testing.F) {
	f.Add(indexText, "prometheus")
	f.Add("entries: {a: [{version: 1}]}", "a")
	f.Add("entries:\nprometheus:\n- version: 1\n", "prometheus")
	f.Fuzz(func(t *testing.T, text, chart string) {
		found, err := readIndex(strings.NewReader(text), chart)
		if err == nil && len(found) == 0 {
			t.Error("neither versions nor an error")
		}
	})
}

func TestFindEntries(t *testing.T) {
	long := "    icon: " + strings.Repeat("x", 200<<10) + "\n"
	for name, test := range map[string]struct {
		index, want string
		isIndex     bool
		err         error
	}{
		"two spaces":  {"apiVersion: v1\nentries:\n  a:\n  - version: 1\n  b:\n  - version: 2\ngenerated: x\n", "  - version: 1\n", true, nil},
		"four spaces": {"entries:\n    \"a\":\n    - version: 1\n    b:\n    - version: 2\n", "    - version: 1\n", true, nil},
		"long lines":  {"entries:\n  b:\n  - version: 2\n" + long + "  a:\n  - version: 1\n", "  - version: 1\n", true, nil},
		"too large":   {"entries:\n  a:\n  - version: 1\n" + long, "", true, ErrTooLarge},
		"empty":       {"entries: {}\n", "", true, nil},
		"a page":      {"<html>\n  a:\n  - version: 1\n", "", false, nil},
	} {
		got, isIndex, err := FindEntries(strings.NewReader(test.index), "a", 100<<10)
		if string(got) != test.want || isIndex != test.isIndex || !errors.Is(err, test.err) {
			t.Errorf("%s: %q, %v, %v", name, got, isIndex, err)
		}
	}
}
