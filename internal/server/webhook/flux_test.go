package webhook

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

const commit = "731f7eaddfb6af01cb2173e18f0f75b0ba780ef1"

// fluxBody is what the notification-controller posts; the time is filled in.
const fluxBody = `{
	"involvedObject": {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "namespace": "flux-system", "name": "apps", "uid": "7d0cdc51"},
	"severity": "info", "timestamp": %q, "reason": "Progressing", "message": "Health check passed in 2s",
	"metadata": {"kustomize.toolkit.fluxcd.io/revision": "prod@sha1:731f7eaddfb6af01cb2173e18f0f75b0ba780ef1", "cluster": "east-1", "environment": "prod"},
	"reportingController": "kustomize-controller", "reportingInstance": "kustomize-controller-7c7b47f5f-8bhrp"
}`

// happened gives the event of a time before noon.
func happened(ago time.Duration) string {
	return fmt.Sprintf(fluxBody, noon.Add(-ago).Format(time.RFC3339))
}

// fluxBox gives a receiver that hands on what clusters say.
func fluxBox(secrets func(string) ([]string, error), report func(observe.Event) (bool, error)) *box {
	b := &box{now: noon}
	o := b.options(secrets)
	o.Report = report
	b.Handler = New(o)
	return b
}

func acceptReport(observe.Event) (bool, error) { return true, nil }

func fluxPost(body, signature string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/webhooks/flux", strings.NewReader(body))
	r.Header.Set("X-Signature", signature)
	r.Header.Set("Gotk-Component", "kustomize-controller")
	return r
}

func TestFlux(t *testing.T) {
	body := happened(time.Minute)
	other := strings.Replace(body, "info", "error", 1)
	want := observe.Event{
		Cluster: "east-1", Environment: "prod", Object: "Kustomization/flux-system/apps", Branch: "prod", Commit: commit,
		Phase: rollout.Ready, Message: "Health check passed in 2s", When: noon.Add(-time.Minute),
	}
	var got []observe.Event
	known := openReports(t)
	b := fluxBox(nil, func(e observe.Event) (bool, error) {
		got = append(got, e)
		return known.Add(e)
	})
	for _, c := range []struct {
		name, body, signature string
		code, woken           int
	}{
		{"good", body, "", 202, 1},
		{"again", body, "", 200, 0},
		{"without a signature", other, "none", 401, 0},
		{"signed with another secret", other, "sha256=" + mac("hunter3", other), 401, 0},
		{"another body", other, "sha256=" + mac(secret, body), 401, 0},
		{"SHA-512", other, "sha512=" + mac(secret, other), 401, 0},
		{"the same again, later", happened(50 * time.Second), "", 200, 0},
		{"an older event", strings.Replace(happened(2*time.Minute), "info", "error", 1), "", 200, 0},
		{"an error without a revision", strings.NewReplacer("info", "error", "/revision", "/none").Replace(happened(40 * time.Second)), "", 202, 1},
		{"another event", happened(30 * time.Second), "", 202, 1},
		{"not JSON", "{", "", 400, 0},
		{"nothing in it", "{}", "", 400, 0},
		{"no revision", strings.Replace(body, "/revision", "/none", 1), "", 204, 0},
		{"a source", strings.Replace(body, "kustomize.toolkit.fluxcd.io/v1", "source.toolkit.fluxcd.io/v1", 1), "", 204, 0},
		{"a day ago", strings.Replace(happened(24*time.Hour), "east-1", "east-2", 1), "", 202, 1},
		{"more than a day ago", happened(24*time.Hour + time.Second), "", 400, 0},
		{"ahead", strings.Replace(happened(-10*time.Minute), "info", "error", 1), "", 202, 1},
		{"too far ahead", happened(-11 * time.Minute), "", 400, 0},
	} {
		if c.signature == "" {
			c.signature = "sha256=" + mac(secret, c.body)
		}
		got, b.events, b.counted = nil, nil, nil
		w := b.deliver(fluxPost(c.body, c.signature))
		if w.Code != c.code || len(b.events) != c.woken || c.code > 202 && len(got) > 0 {
			t.Errorf("%s: %d with %d events, and woken %d times, want %d, and woken %d times\n%s", c.name, w.Code, len(got), len(b.events), c.code, c.woken, w.Body)
		}
		outcome := map[int]string{202: "woken", 200: "seen", 204: "ignored", 400: "malformed", 401: "unauthorized"}[c.code]
		if diff := cmp.Diff([]string{"flux/" + outcome}, b.counted); diff != "" {
			t.Errorf("%s is counted (-want +got):\n%s", c.name, diff)
		}
		if c.name == "good" {
			if diff := cmp.Diff([]observe.Event{want}, got, cmp.AllowUnexported(ledger.Membership{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff([]Event{{Kind: Report, Action: "ready"}}, b.events); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		}
	}
}

// TestFluxSetUp: without a secret, or with nobody who wants to know, there is no such
// address.
func TestFluxSetUp(t *testing.T) {
	for _, c := range []struct {
		name    string
		secrets []string
		err     error
		report  func(observe.Event) (bool, error)
		code    int
	}{
		{"all", []string{secret}, nil, acceptReport, 202},
		{"no secret", nil, nil, acceptReport, 404},
		{"nobody", []string{secret}, nil, nil, 404},
		{"broken", nil, errors.New("no"), acceptReport, 503},
	} {
		b := fluxBox(func(kind string) ([]string, error) {
			if kind != "flux" {
				t.Errorf("the secret of %s is asked for", kind)
			}
			return c.secrets, c.err
		}, c.report)
		body := happened(0)
		if w := b.deliver(fluxPost(body, "sha256="+mac(secret, body))); w.Code != c.code {
			t.Errorf("%s: %d, want %d", c.name, w.Code, c.code)
		}
	}
}

// TestFluxRefused: what is wrong with an event is said, and nothing else.
func TestFluxRefused(t *testing.T) {
	b := fluxBox(nil, func(observe.Event) (bool, error) { t.Error("it is reported"); return true, nil })
	stamp := noon.Add(-time.Minute).Format(time.RFC3339)
	for body, want := range map[string]string{
		happened(25 * time.Hour):                                         "the event is older than a day",
		happened(-11 * time.Minute):                                      "the time of the event is still to come",
		strings.Replace(happened(time.Minute), stamp, "yesterday", 1):    "the timestamp of the event is missing, or is no time",
		strings.Replace(happened(time.Minute), `"`+stamp+`"`, "null", 1): "the timestamp of the event is missing, or is no time",
		strings.Replace(happened(time.Minute), "timestamp", "time", 1):   "the timestamp of the event is missing, or is no time",
		"{}": "the body is not an event of Flux",
		"{":  "the body is not an event of Flux",
	} {
		w := b.deliver(fluxPost(body, "sha256="+mac(secret, body)))
		if w.Code != 400 || !strings.Contains(w.Body.String(), `"error": "`+want+`"`) {
			t.Errorf("%s\n%d: %s; want %s", body, w.Code, w.Body, want)
		}
	}
}

func TestFluxTooLarge(t *testing.T) {
	b := fluxBox(nil, func(observe.Event) (bool, error) { t.Error("it is reported"); return true, nil })
	r := fluxPost("{}", "sha256="+mac(secret, "{}"))
	r.ContentLength, r.Body = maxReportSize, http.NoBody
	if w := b.deliver(r); w.Code != 413 {
		t.Errorf("%d", w.Code)
	}
}

// TestFluxConnections: the notification-controller makes a client for each event and leaves its
// connection open, so each answer closes the connection, and those to forges do not.
func TestFluxConnections(t *testing.T) {
	b := fluxBox(nil, acceptReport)
	server := httptest.NewServer(b)
	defer server.Close()
	good := happened(0)
	for _, c := range []struct {
		path, body, signature string
		code                  int
		closes                bool
	}{
		{"/webhooks/flux", good, mac(secret, good), 202, true},
		{"/webhooks/flux", good, mac("wrong", good), 401, true},
		{"/webhooks/flux", "{", mac(secret, "{"), 400, true},
		{"/webhooks/github", "{", mac(secret, "{"), 401, false},
	} {
		request, err := http.NewRequest(http.MethodPost, server.URL+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Signature", "sha256="+c.signature)
		answer, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != c.code || answer.Close != c.closes {
			t.Errorf("%s with %q: %d, the connection closes: %t; want %d, %t", c.path, c.body, answer.StatusCode, answer.Close, c.code, c.closes)
		}
	}
}
