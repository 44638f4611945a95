package agent

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
)

// newTestReporter returns a reporter that has read its cluster at 11:00.
func newTestReporter(seed uint64) *reporter {
	r := newReporter(Options{Name: "e1", Every: time.Minute, Random: rand.New(rand.NewPCG(seed, 1)), Now: func() time.Time { return at("11:00") }})
	r.setState(agentapi.NewState([]agentapi.Entry{{Kind: "Kustomization", Name: "fleet", Phase: "ready"}}, nil), "uid-1", at("11:00"))
	return r
}

// TestBackoff: an agent waits longer after each failure, for a time that chance chooses, and at once as
// usual after a success.
func TestBackoff(t *testing.T) {
	refused := func(after time.Duration) error { return &refusedError{retryAfter: after} }
	for _, c := range []struct {
		name              string
		earlier           int // failures
		err               error
		shortest, longest time.Duration
	}{
		{"the first time", 0, errors.New("no route"), shortestBackoff, 5 * time.Second},
		{"the second time", 1, errors.New("no route"), shortestBackoff, 10 * time.Second},
		{"the fifth time", 4, errors.New("no route"), shortestBackoff, 80 * time.Second},
		{"the sixth time", 5, errors.New("no route"), shortestBackoff, 2 * time.Minute},
		{"the thousandth time", 999, errors.New("no route"), shortestBackoff, 2 * time.Minute},
		{"when it is told", 0, refused(time.Minute), time.Minute, 72 * time.Second},
		{"when it is told, again", 9, refused(time.Minute), time.Minute, 72 * time.Second},
		{"when it is told to stay away", 0, refused(1000 * time.Hour), time.Hour, 72 * time.Minute},
		{"refused without a time", 0, refused(0), shortestBackoff, 5 * time.Second},
	} {
		least, most := time.Duration(1<<62), time.Duration(0)
		for seed := range uint64(300) {
			r := newTestReporter(seed)
			r.failures = c.earlier
			wait := r.setFailed(c.err, at("11:00"))
			least, most = min(least, wait), max(most, wait)
			if r.isDue(at("11:00").Add(wait-1)) || !r.isDue(at("11:00").Add(wait)) {
				t.Fatalf("%s: after %s it is not due when it says", c.name, wait)
			}
			if next := r.untilNext(at("11:00")); next > max(wait, shortestBackoff) {
				t.Fatalf("%s: it sleeps %s, and wants to try after %s", c.name, next, wait)
			}
			r.setAccepted(agentapi.Request{}, agentapi.Answer{}, at("11:00").Add(wait))
			if r.failures != 0 || r.isDue(at("11:00").Add(wait+shortestBackoff)) {
				t.Fatalf("%s: a success is not the end of it", c.name)
			}
		}
		if spread := c.longest - c.shortest; least < c.shortest || most > c.longest || most-least < spread/2 {
			t.Errorf("%s: it waits from %s to %s, want from %s to %s", c.name, least, most, c.shortest, c.longest)
		}
	}
}

// TestAfterOutage: the first report after an outage has everything, with what happened meanwhile; the
// next one does not.
func TestAfterOutage(t *testing.T) {
	r := newTestReporter(3)
	past := []agentapi.Entry{{Kind: "Kustomization", Name: "fleet", Phase: "ready", Past: []agentapi.Past{{Revision: "a", Ready: true, First: at("10:00"), Last: at("10:30")}}}}
	r.setState(agentapi.NewState(past, nil), "uid-1", at("11:00"))
	r.setAccepted(r.nextRequest(at("11:00")), agentapi.Answer{}, at("11:00"))
	for _, c := range []struct {
		clock     string
		wantsPast bool
	}{{"11:01", false}, {"11:02", false}, {"11:04:01", true}, {"11:05", false}, {"12:05", true}} {
		request := r.nextRequest(at(c.clock))
		isPastSent := len(request.Entries) == 1 && len(request.Entries[0].Past) == 1
		if isPastSent != c.wantsPast || c.wantsPast && !request.Full {
			t.Errorf("at %s it sends %+v", c.clock, request)
		}
		r.setAccepted(request, agentapi.Answer{}, at(c.clock))
	}
}

// TestAskedForLess: an agent reports less often while the ledger asks for that, and not less often than it
// may.
func TestAskedForLess(t *testing.T) {
	for _, c := range []struct {
		every string
		want  time.Duration
	}{{"", time.Minute}, {"2m0s", 2 * time.Minute}, {"10s", time.Minute}, {"100h", time.Hour}, {"soon", time.Minute}, {"-1m", time.Minute}} {
		r := newTestReporter(1)
		r.setAccepted(r.nextRequest(at("11:00")), agentapi.Answer{Every: c.every}, at("11:00"))
		if got := r.interval(); got != c.want {
			t.Errorf("asked for %q it reports every %s, want %s", c.every, got, c.want)
		}
		r.setAccepted(r.nextRequest(at("11:01")), agentapi.Answer{}, at("11:01"))
		if got := r.interval(); got != time.Minute {
			t.Errorf("after %q it reports every %s", c.every, got)
		}
	}
}
