package cli

import (
	"bufio"
	"context"
	"io"
	"regexp"
	"strings"
	"testing"
)

// TestRollbackSaysAtOnce: what a rollback has done, which daemon it woke and what it waits for is there
// to read before it waits.
func TestRollbackSaysAtOnce(t *testing.T) {
	w := newOperatorWorld(t)
	for _, revision := range []string{"main~1", "main"} {
		w.run("promote dev " + revision + " --control-plane $CP")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read, written := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		command := w.names.Replace("rollback dev --reason slow --timeout 24h --merge --config $SETTINGS")
		ended <- Main(ctx, strings.Fields(command), written, written)
		_ = written.Close()
	}()
	wanted := []string{
		`^dev goes back to [0-9a-f]{7}, and stays there until fairlead release dev \(commit [0-9a-f]{7} on dev\)$`,
		`^waiting up to .* to merge the pull request from fairlead/dev to dev of .*gitops.git; the daemon at http://127.0.0.1:[0-9]+/ starts a cycle$`,
	}
	all := ""
	for lines := bufio.NewScanner(read); lines.Scan(); {
		all += lines.Text() + "\n"
		if len(wanted) > 0 && regexp.MustCompile(wanted[0]).MatchString(lines.Text()) {
			wanted = wanted[1:]
		}
		if len(wanted) == 0 { // it waits for what never comes
			cancel()
		}
	}
	if len(wanted) > 0 {
		t.Errorf("it does not say %s, but\n%s", wanted[0], all)
	}
	if n := w.calls.Load(); n != 1 {
		t.Errorf("the daemon was called %d times, want once", n)
	}
	if code := <-ended; code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
}

// TestActionsWakeDaemon: an action has the daemon of the settings look at it; one that changes nothing
// has not, and neither has one without settings.
func TestActionsWakeDaemon(t *testing.T) {
	w := newOperatorWorld(t)
	for _, step := range []struct {
		command string
		calls   int32
	}{
		{"hold dev --reason why --config $SETTINGS", 1},
		{"release dev --config $SETTINGS", 2},
		{"release dev --config $SETTINGS", 2},
		{"hold dev --reason why --control-plane $CP", 2},
		{"trigger --config $SETTINGS", 3},
	} {
		w.run(step.command)
		if n := w.calls.Load(); n != step.calls {
			t.Errorf("after %s the daemon was called %d times, want %d", step.command, n, step.calls)
		}
	}
}
