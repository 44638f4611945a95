package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
)

const secret = "hunter2"

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// box is a receiver and what came of it.
type box struct {
	http.Handler
	mu      sync.Mutex
	now     time.Time
	events  []Event
	counted []string
}

// newBox gives a receiver; without secrets it has the one of the tests.
func newBox(secrets func(string) ([]string, error)) *box {
	b := &box{now: noon}
	b.Handler = New(b.options(secrets))
	return b
}

func (b *box) options(secrets func(string) ([]string, error)) Options {
	if secrets == nil {
		secrets = func(string) ([]string, error) { return []string{secret}, nil }
	}
	return Options{
		Secrets: secrets,
		Known:   func(repo string) bool { return slices.Contains(known, repo) },
		Wake:    func(e Event) { b.mu.Lock(); defer b.mu.Unlock(); b.events = append(b.events, e) },
		Now:     func() time.Time { return b.now },
		Observe: func(forge, outcome string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.counted = append(b.counted, forge+"/"+outcome)
		},
	}
}

func (b *box) deliver(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

func mac(secret, body string) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(body))
	return hex.EncodeToString(h.Sum(nil))
}

// signed gives a delivery as the forge sends it.
func signed(forge, event, id, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/webhooks/"+forge, strings.NewReader(body))
	header := map[string]string{}
	switch forge {
	case "github":
		header = map[string]string{"X-GitHub-Event": event, "X-GitHub-Delivery": id, "X-Hub-Signature-256": "sha256=" + mac(secret, body)}
	case "gitea":
		header = map[string]string{"X-Gitea-Event": event, "X-Gitea-Delivery": id, "X-Gitea-Signature": mac(secret, body)}
	case "gitlab":
		header = map[string]string{"X-Gitlab-Event": event, "Idempotency-Key": id, "X-Gitlab-Token": secret, "X-Gitlab-Webhook-UUID": "always the same"}
	}
	for name, value := range header {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	return r
}

const hubPush = `{"ref": "refs/heads/main", "repository": {"clone_url": "https://github.com/Codertocat/Hello-World.git"}}`
const labPush = `{"object_kind": "push", "ref": "refs/heads/main", "project": {"git_http_url": "http://example.com/mike/diaspora.git"}}`

// TestSignatures: whoever does not prove to know a secret gets one answer, always the
// same, and causes nothing.
func TestSignatures(t *testing.T) {
	good := mac(secret, hubPush)
	changed := strings.Replace(good, good[:1], map[bool]string{true: "1", false: "0"}[good[0] == '0'], 1)
	for _, c := range []struct {
		name, forge, header, value string
		code                       int
	}{
		{"right", "github", "X-Hub-Signature-256", "sha256=" + good, 202},
		{"upper case", "github", "X-Hub-Signature-256", "sha256=" + strings.ToUpper(good), 202},
		{"right", "gitea", "X-Gitea-Signature", good, 202},
		{"Forgejo's", "gitea", "X-Forgejo-Signature", good, 202},
		{"GitHub's", "gitea", "X-Hub-Signature-256", "sha256=" + good, 202},
		{"right", "gitlab", "X-Gitlab-Token", secret, 202},

		{"absent", "github", "", "", 401},
		{"empty", "github", "X-Hub-Signature-256", "", 401},
		{"no digits", "github", "X-Hub-Signature-256", "sha256=", 401},
		{"short", "github", "X-Hub-Signature-256", "sha256=" + good[:62], 401},
		{"long", "github", "X-Hub-Signature-256", "sha256=" + good + "00", 401},
		{"not hexadecimal", "github", "X-Hub-Signature-256", "sha256=" + strings.Repeat("z", 64), 401},
		{"changed", "github", "X-Hub-Signature-256", "sha256=" + changed, 401},
		{"of another body", "github", "X-Hub-Signature-256", "sha256=" + mac(secret, hubPush+" "), 401},
		{"of another secret", "github", "X-Hub-Signature-256", "sha256=" + mac("hunter3", hubPush), 401},
		{"of the empty secret", "github", "X-Hub-Signature-256", "sha256=" + mac("", hubPush), 401},
		{"the secret itself", "github", "X-Hub-Signature-256", secret, 401},
		{"SHA-1", "github", "X-Hub-Signature", "sha1=" + good[:40], 401},
		{"Gitea's header", "github", "X-Gitea-Signature", good, 401},
		{"GitLab's header", "github", "X-Gitlab-Token", secret, 401},
		{"absent", "gitea", "", "", 401},
		{"changed", "gitea", "X-Gitea-Signature", changed, 401},
		{"a token", "gitea", "X-Gitlab-Token", secret, 401},
		{"absent", "gitlab", "", "", 401},
		{"empty", "gitlab", "X-Gitlab-Token", "", 401},
		{"another", "gitlab", "X-Gitlab-Token", "hunter3", 401},
		{"its beginning", "gitlab", "X-Gitlab-Token", secret[:6], 401},
		{"more than it", "gitlab", "X-Gitlab-Token", secret + "2", 401},
		{"other case", "gitlab", "X-Gitlab-Token", "Hunter2", 401},
		{"a signature", "gitlab", "X-Hub-Signature-256", "sha256=" + mac(secret, labPush), 401},
	} {
		t.Run(c.forge+"/"+c.name, func(t *testing.T) {
			body := hubPush
			if c.forge == "gitlab" {
				body = labPush
			}
			b := newBox(func(string) ([]string, error) { return []string{secret, ""}, nil })
			r := httptest.NewRequest(http.MethodPost, "/webhooks/"+c.forge, strings.NewReader(body))
			r.Header.Set("X-GitHub-Event", "push")
			r.Header.Set("X-Gitea-Event", "push")
			if c.header != "" {
				r.Header.Set(c.header, c.value)
			}
			w := b.deliver(r)
			if w.Code != c.code || (c.code == 202) != (len(b.events) == 1) {
				t.Errorf("%d with %d events, want %d", w.Code, len(b.events), c.code)
			}
			const denied = "{\n  \"error\": \"the signature is missing or wrong\",\n  \"hint\": \"give the webhook the secret that the settings name\"\n}\n"
			if c.code == 401 && w.Body.String() != denied {
				t.Errorf("the answer is %s", w.Body)
			}
			want := []string{c.forge + "/" + map[int]string{202: "woken", 401: "unauthorized"}[c.code]}
			if diff := cmp.Diff(want, b.counted); diff != "" {
				t.Errorf("counted (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSecrets(t *testing.T) {
	var have []string
	var broken error
	b := newBox(func(string) ([]string, error) { return have, broken })
	i := 0
	for _, c := range []struct {
		have []string
		err  error
		code int
		body string
	}{
		{nil, nil, 404, "are not set up"},
		{[]string{""}, nil, 404, "are not set up"},
		{[]string{secret}, nil, 202, "the next cycle starts now"},
		{[]string{"hunter3", secret}, nil, 202, ""},
		{[]string{secret, "hunter3"}, nil, 202, ""},
		{[]string{secret, secret}, nil, 202, ""},
		{[]string{"hunter3"}, nil, 401, ""},
		{nil, errors.New("open /secrets/hook: permission denied"), 503, "cannot be checked"},
	} {
		have, broken = c.have, c.err
		i++
		w := b.deliver(signed("github", "push", fmt.Sprint(i), hubPush+strings.Repeat(" ", i)))
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.body) || strings.Contains(w.Body.String(), "/secrets") {
			t.Errorf("with %q: %d %s, want %d", c.have, w.Code, w.Body, c.code)
		}
	}
}

// unread is a body that must not be looked at.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) { u.t.Error("the body was read"); return 0, io.EOF }

// zeros is an endless body.
type zeros struct{ read int }

func (z *zeros) Read(p []byte) (int, error) {
	clear(p)
	z.read += len(p)
	return len(p), nil
}

func TestSize(t *testing.T) {
	request := func(forge string, body io.Reader, length int64, header ...string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/webhooks/"+forge, body)
		r.ContentLength = length
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		return r
	}
	some := "sha256=" + strings.Repeat("0", 64)
	endless := &zeros{}
	for _, c := range []struct {
		name string
		r    *http.Request
		code int
	}{
		{"too long by its header", request("github", unread{t}, maxBodySize, "X-Hub-Signature-256", some), 413},
		{"too long without a signature", request("github", unread{t}, maxBodySize), 413},
		{"no signature", request("github", unread{t}, 100), 401},
		{"no signature, of no known length", request("gitea", unread{t}, -1), 401},
		{"a wrong token", request("gitlab", unread{t}, -1, "X-Gitlab-Token", "hunter3"), 401},
		{"endless", request("github", endless, -1, "X-Hub-Signature-256", some), 413},
		{"a wrong length", request("github", &zeros{}, 100, "X-Hub-Signature-256", some), 413},
		{"just too long", request("github", io.LimitReader(&zeros{}, maxBodySize), -1, "X-Hub-Signature-256", some), 413},
		{"the longest", request("github", io.LimitReader(&zeros{}, maxBodySize-1), maxBodySize-1, "X-Hub-Signature-256", some), 401},
		{"broken off", request("github", io.MultiReader(strings.NewReader("{"), broken{}), 100, "X-Hub-Signature-256", some), 400},
	} {
		if w := newBox(nil).deliver(c.r); w.Code != c.code {
			t.Errorf("%s: %d, want %d", c.name, w.Code, c.code)
		}
	}
	if endless.read > 2*maxBodySize {
		t.Errorf("%d bytes of the endless body were read", endless.read)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestRepeated sends deliveries again: as they were, under another id, and changed.
func TestRepeated(t *testing.T) {
	b := newBox(nil)
	for _, c := range []struct {
		name, forge, id, body string
		after                 time.Duration
		code                  int
	}{
		{"new", "github", "1", hubPush, 0, 202},
		{"again", "github", "1", hubPush, time.Minute, 200},
		{"under another id", "github", "2", hubPush, time.Minute, 200},
		{"without an id", "github", "", hubPush, time.Minute, 200},
		{"another with the id", "github", "1", hubPush + " ", time.Minute, 200},
		{"another with an id that was only tried", "github", "2", hubPush + " ", time.Minute, 202},
		{"the same of another forge", "gitea", "1", hubPush, time.Minute, 202},
		{"new", "gitlab", "1", labPush, time.Minute, 202},
		{"another of the same webhook", "gitlab", "2", labPush + " ", time.Minute, 202},
		{"again", "gitlab", "1", labPush, time.Minute, 200},
		{"long after", "github", "1", hubPush, maxRememberedAge, 202},
	} {
		b.now = b.now.Add(c.after)
		before := len(b.events)
		w := b.deliver(signed(c.forge, "push", c.id, c.body))
		if w.Code != c.code || (len(b.events) > before) != (c.code == 202) {
			t.Errorf("%s %s: %d with %d events, want %d", c.forge, c.name, w.Code, len(b.events)-before, c.code)
		}
		if c.code == 200 && !strings.Contains(w.Body.String(), `"seen"`) {
			t.Errorf("%s %s: the answer is %s", c.forge, c.name, w.Body)
		}
	}
}

// TestNotRemembered: only what woke the loop is remembered, so that a repository that
// becomes known later is heard.
func TestNotRemembered(t *testing.T) {
	var knows bool
	h := New(Options{
		Secrets: func(string) ([]string, error) { return []string{secret}, nil },
		Known:   func(string) bool { return knows },
		Wake:    func(Event) {},
		Now:     func() time.Time { return noon },
	})
	for _, c := range []struct {
		knows bool
		code  int
	}{{false, 204}, {false, 204}, {true, 202}, {true, 200}} {
		knows = c.knows
		w := httptest.NewRecorder()
		h.ServeHTTP(w, signed("github", "push", "1", hubPush))
		if w.Code != c.code {
			t.Errorf("with the repository known %v: %d, want %d", c.knows, w.Code, c.code)
		}
	}
}

// TestMemory fills the memory: the oldest is forgotten, and no more is kept than it
// may.
func TestMemory(t *testing.T) {
	m := newDeliveryLog()
	of := func(i int) []key { return deliveryKeys("github", fmt.Sprint(i), fmt.Append(nil, "body ", i)) }
	for i := range maxRemembered + 10 {
		if !m.addNew(noon, of(i)...) {
			t.Fatalf("%d is known", i)
		}
	}
	if len(m.order) != maxRemembered || len(m.known) != 2*maxRemembered {
		t.Errorf("%d deliveries with %d keys", len(m.order), len(m.known))
	}
	for i, want := range map[int]bool{9: true, 11: false, maxRemembered + 9: false} {
		if got := m.addNew(noon, of(i)...); got != want {
			t.Errorf("%d is new: %v", i, got)
		}
	}
	m.addNew(noon.Add(maxRememberedAge), of(-1)...)
	if len(m.order) != 1 || len(m.known) != 2 {
		t.Errorf("later there are %d deliveries with %d keys", len(m.order), len(m.known))
	}
}

// TestRace sends each of many deliveries from many goroutines: each wakes once.
func TestRace(t *testing.T) {
	const different, each = 50, 8
	b := newBox(nil)
	var wait sync.WaitGroup
	for range each {
		wait.Go(func() {
			for i := range different {
				b.deliver(signed("github", "push", fmt.Sprint(i), hubPush+strings.Repeat(" ", i)))
			}
		})
	}
	wait.Wait()
	slices.Sort(b.counted)
	if len(b.events) != different || len(b.counted) != different*each || b.counted[different*(each-1)-1] != "github/seen" {
		t.Errorf("%d events, %d answers, want %d, %d", len(b.events), len(b.counted), different, different*each)
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		method, target string
		code           int
	}{
		{"POST", "/webhooks/bitbucket", 404},
		{"POST", "/webhooks/", 404},
		{"POST", "/webhooks/github/more", 404},
		{"GET", "/webhooks/github", 405},
	} {
		b := newBox(nil)
		w := b.deliver(httptest.NewRequest(c.method, c.target, unread{t}))
		if w.Code != c.code || len(b.counted) > 0 {
			t.Errorf("%s %s: %d, counted %q, want %d", c.method, c.target, w.Code, b.counted, c.code)
		}
	}
}

// TestCounted: metrics know every outcome, and answers are JSON that says what to do.
func TestCounted(t *testing.T) {
	m := metrics.New("")
	for _, a := range []response{woken, repeated, pong, ignored, unknownRepository, unauthorized, tooLarge, malformed, eventTooOld, eventInFuture, noTimestamp, notFluxEvent, notSetUp, secretUnreadable,
		notArgoCDEvent, otherCluster, nameProven, contested, renamed, noClusterKeys, reportTooLarge, keyUnknown, planTooLarge, notPlan(errIrrelevant), tooMany(time.Second)} {
		for _, f := range forgeSenders {
			m.RecordWebhook(f.name, a.outcome)
		}
		for _, by := range []reporter{fluxReporter, argoCDReporter} {
			m.RecordWebhook(by.name, a.outcome)
		}
		w := httptest.NewRecorder()
		a.writeTo(w)
		var body responseBody
		if err := json.Unmarshal(w.Body.Bytes(), &body); a.code != 204 && (err != nil || (a.code >= 400) != (body.Error != "" && body.Hint != "")) {
			t.Errorf("%s: %s, %v", a.outcome, w.Body, err)
		}
	}
	for _, outcome := range append(planOutcomes, unauthorized.outcome, notSetUp.outcome, keyUnknown.outcome, "too-many") {
		m.RecordWebhook(planSender, outcome)
	}
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if got := strings.Count(w.Body.String(), "fairlead_webhooks_total{"); got != 78 || strings.Contains(w.Body.String(), `"other"`) {
		t.Errorf("%d series in\n%s", got, w.Body)
	}
}
