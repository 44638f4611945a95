package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
)

// The environment of a process that is a daemon of one cycle: its settings, what clusters have reported, its
// time, and before which of its changes it dies. Its token is in TOKEN.
const (
	lifeSettings = "GITEA_LIFE_SETTINGS"
	lifeReports  = "GITEA_LIFE_REPORTS"
	lifeTime     = "GITEA_LIFE_TIME"
	lifeChange   = "GITEA_LIFE_CHANGE"
	lifeKilled   = 137
)

// readReports returns what clusters have reported to a file; nil if there is none.
func readReports(file string, now time.Time) (observe.ReportSource, error) {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	known, err := recorder.Read(context.Background(), file, func() time.Time { return now })
	if err != nil {
		return nil, err
	}
	return known, nil
}

// runLife runs one cycle, or dies in it.
func runLife() int {
	s, problems := config.Parse("fairlead.yaml", []byte(os.Getenv(lifeSettings)), ".", os.Getenv)
	last, err := strconv.Atoi(os.Getenv(lifeChange))
	now, timeErr := time.Parse(time.RFC3339, os.Getenv(lifeTime))
	inbox, reportsErr := readReports(os.Getenv(lifeReports), now)
	if err := errors.Join(err, timeErr, reportsErr); err != nil || problems.Stops() {
		fmt.Fprintln(os.Stderr, problems, err)
		return 1
	}
	count, set := 0, false
	l, err := loop.New(context.Background(), loop.Options{
		Inbox: inbox, Settings: s, Now: func() time.Time { return now }, Random: func() float64 { return 0 },
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		BeforeEffect: func(what string) {
			isStatus := strings.HasPrefix(what, "set the status of ")
			if strings.HasPrefix(what, "ask ") || isStatus && set { // that is no change, and statuses are one
				return
			}
			set = set || isStatus
			count++
			if count == last {
				fmt.Println(what)
				os.Exit(lifeKilled)
			}
		},
	})
	if err == nil {
		defer l.Close()
		err = l.Cycle(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// killAtEveryStep runs lives of a daemon, one after the other, each of which makes one change and dies before
// the next one, until nothing is left to do. Every other life begins with the data folder of the one
// before, and the others with none. It returns before which changes they died.
func (f *flow) killAtEveryStep(reports string, now time.Time) (steps []string) {
	f.Helper()
	data, change := f.TempDir(), 1
	for life := range 30 {
		if life%2 == 1 {
			data = f.TempDir()
		}
		c := exec.CommandContext(f.Context(), os.Args[0])
		c.Env = append(os.Environ(), lifeSettings+"="+strings.Replace(f.settingsText(f.server.URL, data), "write: true", "write: true\nparallel: 1", 1),
			lifeReports+"="+reports, lifeTime+"="+now.Format(time.RFC3339), lifeChange+"="+strconv.Itoa(change), "TOKEN="+f.server.Token)
		out, err := c.Output()
		var ended *exec.ExitError
		switch {
		case err == nil:
			return steps
		case !errors.As(err, &ended) || ended.ExitCode() != lifeKilled:
			f.Fatalf("life %d did not die of what it should: %v\n%s", life, err, ended.Stderr)
		}
		step := strings.TrimSpace(string(out))
		if len(steps) == 0 || slices.Contains(steps, step) { // what it did is done by each life
			change++
		}
		steps = append(steps, step)
	}
	f.Fatalf("it is not done after many lives: %q", steps)
	return nil
}
