package lever

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/session"
)

// TestPullCommands: the command of an action on a pull request names it as fairlead pr takes it, by its number.
func TestPullCommands(t *testing.T) {
	store := &status.Store{}
	for _, e := range []status.Environment{
		{Name: "dev", State: status.Proposed, Pull: &status.Pull{Number: 7}},
		{Name: "stage", State: status.Declined, Pull: &status.Pull{Number: 8}},
		{Name: "prod", State: status.InSync},
	} {
		store.SetEnvironment(e)
	}
	o := &Operator{options: Options{Store: store}}
	for _, test := range []struct {
		request Request
		want    string
	}{
		{Request{Lever: Merge, Environment: "dev"}, "fairlead pr merge 7 --reason TEXT"},
		{Request{Lever: Merge, Environment: "dev", Force: true}, "fairlead pr merge 7 --force --reason TEXT"},
		{Request{Lever: Close, Environment: "dev"}, "fairlead pr close 7 --reason TEXT"},
		{Request{Lever: Reopen, Environment: "stage"}, "fairlead pr reopen 8 --reason TEXT"},
		{Request{Lever: Merge, Environment: "prod"}, "fairlead pr merge NUMBER --reason TEXT"},
	} {
		l := answer.Lever{Command: commandLine(test.request)}
		_, err := o.describePull(&session.Person{}, test.request, &l)
		if err != nil || l.Command != test.want {
			t.Errorf("%+v: the command is %q, %v; want %q", test.request, l.Command, err, test.want)
		}
	}
}
