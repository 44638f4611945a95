package loop

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
)

// TestEventWithPoll: an event that arrives together with a poll of all repositories is not taken for a
// part of it: what a cluster has reported is in no repository.
func TestEventWithPoll(t *testing.T) {
	for _, c := range []struct {
		name  string
		asked []repos.Scope
		want  bool
	}{
		{"nothing", nil, false},
		{"a poll", []repos.Scope{repos.All}, false},
		{"an event", []repos.Scope{repos.Only()}, true},
		{"an event before a poll", []repos.Scope{repos.Only(), repos.All}, true},
		{"an event after a poll", []repos.Scope{repos.All, repos.Only("a")}, true},
	} {
		w := wakeRequests{news: make(chan struct{}, 1)}
		for _, scope := range c.asked {
			w.add(scope)
		}
		for _, want := range []bool{c.want, false} {
			if _, event := w.take(); event != want {
				t.Errorf("%s: an event was taken: %t, want %t", c.name, event, want)
			}
		}
	}
}
