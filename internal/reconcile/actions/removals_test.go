package actions_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestAcknowledge: an approval of removals is one file that names one change; to write it
// again does nothing.
func TestAcknowledge(t *testing.T) {
	w := newWorld(t)
	change := strings.Repeat("0123456789", 4)
	r, err := w.open(w.options()).Acknowledge(t.Context(), "stage", change, "the shop moves")
	if err != nil {
		t.Fatal(err)
	}
	if !r.Changed || !strings.Contains(r.Summary, "alice@example.com approves the removals 012345678901 in stage") {
		t.Errorf("it says %+v", r)
	}
	var approvals []string
	for file, text := range gittest.Files(t, w.server.Dir("plane"), "stage") {
		if strings.HasPrefix(file, ".fairlead/approvals/") {
			approvals = append(approvals, file, text)
		}
	}
	if len(approvals) != 2 || !strings.Contains(approvals[0], "/removals-012345678901-alice-example-com-") ||
		!strings.Contains(approvals[1], "removals: \""+change+"\"") || !strings.Contains(approvals[1], "reason: the shop moves") {
		t.Errorf("the approvals are %q", approvals)
	}
	if message := gittest.Git(t, w.server.Dir("plane"), "log", "-1", "--format=%B", "stage"); !strings.Contains(message, "Fairlead-Action: approve") {
		t.Errorf("the message is\n%s", message)
	}
	again, err := w.open(w.options()).Acknowledge(t.Context(), "stage", change, "")
	if err != nil || again.Changed || !strings.Contains(again.Summary, "already") {
		t.Errorf("a second time it says %+v, %v", again, err)
	}
	for _, bad := range []string{"", change[:12], strings.ToUpper(strings.Repeat("ab", 20)), change + "0"} {
		if _, err := w.open(w.options()).Acknowledge(t.Context(), "stage", bad, ""); err == nil || !strings.Contains(err.Error(), "40 hexadecimal digits") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
