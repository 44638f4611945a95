package repos_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestFailureIsLoggedOnce: a repository that fails is one warning, until it has answered or fails in
// another way; none, if what it stops was logged with the failure.
func TestFailureIsLoggedOnce(t *testing.T) {
	refused, missing := gittest.Fault{Status: http.StatusForbidden}, gittest.Fault{Status: http.StatusNotFound}
	var log bytes.Buffer
	r := newRig(t, "", "a")
	r.set = newSetLogging(t, r, &log)
	r.open("a")
	remove := func() {}
	for i, step := range []struct {
		fault  *gittest.Fault // nil for none, and for that of the step before
		mended bool
		logged bool // with what it stops
		want   string
	}{
		{fault: &refused, want: "WARN a repository cannot be reached"},
		{},
		{fault: &missing, want: "WARN a repository cannot be reached"},
		{mended: true, want: "INFO a repository answers again"},
		{fault: &missing, logged: true},
		{},
		{mended: true, want: "INFO a repository answers again"},
		{fault: &missing, want: "WARN a repository cannot be reached"},
	} {
		if step.fault != nil || step.mended {
			remove()
		}
		if step.fault != nil {
			remove = r.server.Inject("a", *step.fault)
		}
		log.Reset()
		r.now = r.now.Add(time.Hour)
		r.set.Poll(t.Context(), repos.All)
		var logged []error
		if step.logged {
			_, err := r.set.Open(t.Context(), r.server.URL("a"))
			logged = []error{errors.New("another"), fmt.Errorf("read the GitOps repository: %w", err)}
		}
		r.set.LogFailures(logged)
		r.set.LogFailures(nil)
		var got []string
		for line := range strings.Lines(log.String()) {
			level, message, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "level="), " ")
			if level != "DEBUG" {
				got = append(got, level+" "+strings.Split(message, `"`)[1])
			}
		}
		if strings.Join(got, ", ") != step.want {
			t.Errorf("step %d logs %q, want %q:\n%s", i, got, step.want, log.String())
		}
	}
}

// newSetLogging returns a set that logs everything, without times.
func newSetLogging(t *testing.T, r *rig, log *bytes.Buffer) *repos.Set {
	t.Helper()
	return newSetOf(t, t.Context(), r.server, "", func() time.Time { return r.now }, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{
		Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})))
}

// TestBackingOffSaysUntil: while a repository is left alone, the error is its failure, and until when
// it is not asked.
func TestBackingOffSaysUntil(t *testing.T) {
	r := newRig(t, "", "a")
	r.server.Inject("a", gittest.Fault{Status: http.StatusNotFound})
	for _, want := range []string{"no such repository", "no such repository (backing off until 13:46:45 UTC)"} {
		r.set.Poll(t.Context(), repos.All)
		_, err := r.set.Open(t.Context(), r.server.URL("a"))
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

// TestFindFailing: of several remotes, those are named whose failure an error is about, while others are asked.
func TestFindFailing(t *testing.T) {
	r := newRig(t, "", "a", "b", "c")
	for _, name := range []string{"a", "b"} {
		r.server.Inject(name, gittest.Fault{Status: http.StatusNotFound})
	}
	errs, asked := map[string]error{}, make(chan error)
	for _, name := range []string{"a", "c"} {
		_, errs[name] = r.set.Open(t.Context(), r.server.URL(name))
	}
	go func() {
		_, err := r.set.Open(t.Context(), r.server.URL("b"))
		asked <- err
	}()
	for _, test := range []struct {
		name string
		err  error
		want []string
	}{
		{"one that fails", fmt.Errorf("render dev: %w", errs["a"]), []string{r.server.URL("a")}},
		{"one that answers", errs["c"], nil},
		{"another error", errors.New("no such environment"), nil},
	} {
		if got := r.set.FindFailing(test.err); !slices.Equal(got, test.want) {
			t.Errorf("%s: the failing remotes are %q, want %q", test.name, got, test.want)
		}
	}
	both := errors.Join(errs["a"], <-asked)
	if got, want := r.set.FindFailing(both), []string{r.server.URL("a"), r.server.URL("b")}; !slices.Equal(got, want) {
		t.Errorf("the failing remotes are %q, want %q", got, want)
	}
}

// TestMistakeIsForgotten: a repository that fails, and that a complete reading does not name, is not
// asked any more; one that answers, or that an incomplete reading may not have come to, still is.
func TestMistakeIsForgotten(t *testing.T) {
	for name, test := range map[string]struct {
		fault    gittest.Fault
		complete bool
		named    bool
		want     bool // it is still known
	}{
		"a mistake":                     {gittest.Fault{Status: http.StatusNotFound}, true, false, false},
		"it is named still":             {gittest.Fault{Status: http.StatusNotFound}, true, true, true},
		"not everything was read":       {gittest.Fault{Status: http.StatusNotFound}, false, false, true},
		"it answers, and is not needed": {gittest.Fault{Times: 1}, true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "", "a")
			r.server.Inject("a", test.fault)
			open := func() { _, _ = r.set.Open(t.Context(), r.server.URL("a")) }
			r.set.BeginReading()
			open()
			r.set.EndReading(true)
			r.set.BeginReading()
			if test.named {
				open()
			}
			r.set.EndReading(test.complete)
			if known := r.set.KnownRemote(r.server.URL("a")) != nil; known != test.want {
				t.Errorf("it is known: %v", known)
			}
		})
	}
}

// TestHasRead: a repository was read if its references are in the data folder, also when it cannot be
// reached any more, and for a process that begins.
func TestHasRead(t *testing.T) {
	r := newRig(t, "", "a", "never")
	r.open("a")
	for name, want := range map[string]bool{"a": true, "never": false, "no-such": false} {
		if got := r.set.HasRead(r.server.URL(name)); got != want {
			t.Errorf("%s was read: %v", name, got)
		}
	}
	if r.set.KnownRemote(r.server.URL("never")) != nil {
		t.Error("to be asked about makes it known")
	}
	r.server.Inject("a", gittest.Fault{Status: http.StatusNotFound})
	r.now = r.now.Add(time.Hour)
	r.set.Poll(t.Context(), repos.All)
	if !r.set.HasRead(r.server.URL("a")) {
		t.Error("what was read is forgotten when it fails")
	}
}
