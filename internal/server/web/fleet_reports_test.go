package web

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/server/reports"
)

// fleetReport is a request of an agent, and the code that it is answered with.
type fleetReport struct {
	name    string
	to      http.Handler
	request *http.Request
	code    int
}

// fleetReports have all answers that there are. They come from another site, as far as a browser would
// say.
func fleetReports(t *testing.T) []fleetReport {
	const key = "the key of the cluster"
	site := func(change func(*reports.Options)) http.Handler {
		known := ledger.New(100)
		o := reports.Options{
			Keys:    func(string, time.Time) ([]string, error) { return []string{key}, nil },
			Receive: func(c ledger.Contact, all []ledger.Report) (ledger.Receipt, error) { return known.Receive(c, all), nil },
			Places:  func() []reports.Place { return nil },
			Now:     func() time.Time { return noon },
		}
		if change != nil {
			change(&o)
		}
		return New(Options{Reports: reports.New(o)})
	}
	set := site(nil)
	unset := site(func(o *reports.Options) { o.Keys = func(string, time.Time) ([]string, error) { return nil, nil } })
	full := site(func(o *reports.Options) {
		o.Receive = func(ledger.Contact, []ledger.Report) (ledger.Receipt, error) {
			return ledger.Receipt{}, errors.New("disk full")
		}
	})
	busy := site(func(o *reports.Options) { o.Every = func(d time.Duration) time.Duration { return 2 * d } })
	sequence := uint64(0)
	request := func(uid string, change func(*agentapi.Request)) *http.Request {
		sequence++
		r := agentapi.Request{
			Version: 1, Cluster: "east-1", UID: uid, Boot: "a", Sequence: sequence, Sent: noon, Every: "1m0s", Digest: "1", Full: true,
		}
		if change != nil {
			change(&r)
		}
		body, err := r.Encode(false)
		if err != nil {
			t.Fatal(err)
		}
		post := httptest.NewRequest(http.MethodPost, agentapi.Path, bytes.NewReader(body))
		post.Header.Set(agentapi.ClusterHeader, "east-1")
		post.Header.Set(agentapi.SignatureHeader, agentapi.Sign(key, http.MethodPost, body))
		post.Header.Set("Sec-Fetch-Site", "cross-site")
		return post
	}
	all := []fleetReport{
		{"a digest of nothing known", set, request("1", func(r *agentapi.Request) { r.Full = false }), 200},
		{"everything", set, request("1", nil), 204},
		{"a busy daemon", busy, request("1", nil), 200},
		{"no version", set, request("1", func(r *agentapi.Request) { r.Version = 0 }), 400},
		{"a replay", set, request("1", func(r *agentapi.Request) { r.Sequence = 1 }), 401},
		{"another cluster", set, request("2", nil), 409},
		{"no secret", unset, request("1", nil), 404},
		{"disk full", full, request("1", nil), 503},
	}
	large := request("1", nil)
	large.ContentLength = agentapi.MaxBody + 1
	all = append(all, fleetReport{"too large", set, large, 413})
	drained := site(nil)
	for range 40 {
		drained.ServeHTTP(httptest.NewRecorder(), request("1", nil))
	}
	return append(all, fleetReport{"too many", drained, request("1", nil), 429})
}
