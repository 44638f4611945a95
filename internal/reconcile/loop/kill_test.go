package loop_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/fetch"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// The environment of a process that is a daemon of one cycle, or of several: its settings, its
// time, and the step at which it dies (0: none).
const (
	settingsVariable = "CYCLE_TEST_SETTINGS"
	timeVariable     = "CYCLE_TEST_TIME"
	stepVariable     = "CYCLE_TEST_STEP"
	cyclesVariable   = "CYCLE_TEST_CYCLES"
	reportsVariable  = "CYCLE_TEST_REPORTS" // a file with what clusters have reported; "" for none
	killed           = 137
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == buildChart {
		if err := fetch.RunBuilder(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(settingsVariable) != "" {
		os.Exit(daemonProcess())
	}
	os.Exit(m.Run())
}

// daemonProcess runs some cycles, or dies in them.
func daemonProcess() int {
	s, problems := config.Parse("fairlead.yaml", []byte(os.Getenv(settingsVariable)), ".", os.Getenv)
	last, err := strconv.Atoi(os.Getenv(stepVariable))
	cycles, _ := strconv.Atoi(os.Getenv(cyclesVariable))
	now, timeErr := time.Parse(time.RFC3339, os.Getenv(timeVariable))
	if err := errors.Join(err, timeErr, limitFiles()); err != nil || problems.Stops() {
		fmt.Fprintln(os.Stderr, problems, err)
		return 1
	}
	inbox, err := readReports(os.Getenv(reportsVariable), now)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var step atomic.Int64
	loop, err := loop.New(context.Background(), loop.Options{
		Inbox:    inbox,
		Settings: s, Now: func() time.Time { return now }, Random: func() float64 { return 0 }, Patience: time.Hour,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		BeforeEffect: func(what string) {
			if step.Add(1) == int64(last) {
				fmt.Println(what)
				os.Exit(killed)
			}
		},
	})
	if err == nil {
		defer loop.Close()
	}
	for range max(1, cycles) {
		if err == nil {
			err = loop.Cycle(context.Background())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

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

// diesAt runs a cycle in a process of its own that dies at a step, and gives what it
// was about to do; "" if it had less to do.
func (w *world) diesAt(step int, data string, more ...string) string {
	w.Helper()
	out, err := w.command(data, append(more, stepVariable+"="+strconv.Itoa(step))...).Output()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &ended) && ended.ExitCode() == killed:
		return strings.TrimSpace(string(out))
	}
	w.Fatalf("the process did not die of what it should: %v\n%s", err, ended.Stderr)
	return ""
}

// command is a daemon's process.
func (w *world) command(data string, more ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), settingsVariable+"="+w.settingsText(data), timeVariable+"="+w.now.Format(time.RFC3339), stepVariable+"=0", reportsVariable+"="+w.reportsFile)
	cmd.Env = append(cmd.Env, more...)
	return cmd
}

// life runs one cycle of a daemon of its own.
func (w *world) life(data string) {
	w.Helper()
	d := w.begin(data)
	defer d.Close()
	d.cycle()
}

// saved is a copy of all repositories and of a data folder.
type saved struct{ servers, data string }

func (w *world) save() saved {
	w.Helper()
	s := saved{filepath.Join(w.TempDir(), "servers"), filepath.Join(w.TempDir(), "data")}
	w.copy(w.server.Root, s.servers)
	w.copy(w.data, s.data)
	return s
}

func (w *world) restore(s saved) {
	w.Helper()
	w.copy(s.servers, w.server.Root)
	w.copy(s.data, w.data)
}

// copy makes a folder a copy of another. Packs, which nothing writes to once they have their
// names, are linked: tests that damage them do so elsewhere, or replace them.
func (w *world) copy(from, to string) {
	w.Helper()
	place := func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, inside)
		name := e.Name()
		switch {
		case e.IsDir():
			return os.MkdirAll(target, 0o755)
		case strings.HasPrefix(name, "pack-") && slices.Contains([]string{".pack", ".idx", ".rev"}, filepath.Ext(name)):
			return os.Link(path, target)
		}
		text, err := os.ReadFile(path)
		info, infoErr := e.Info()
		if err := errors.Join(err, infoErr); err != nil {
			return err
		}
		return os.WriteFile(target, text, info.Mode().Perm())
	}
	if err := errors.Join(os.RemoveAll(to), filepath.WalkDir(from, place)); err != nil {
		w.Fatal(err)
	}
}

// outcome is what everybody can see in the end.
type outcome struct {
	Branches  map[string]string   // "repository branch" to commit
	Documents map[string][]string // pull requests, issues and statuses; without their numbers, which are a matter of who was first
}

var numbers = regexp.MustCompile(`Pull request \d+|refs/fairlead/(pulls|issues)/\d+`)

// times are when statuses were set.
var times = regexp.MustCompile(`(?m)^when: .*\n`)

func (w *world) outcome() outcome {
	w.Helper()
	o := outcome{map[string]string{}, map[string][]string{}}
	for _, name := range []string{"cp", "out"} {
		repo, err := git.Open(w.server.Dir(name))
		if err != nil {
			w.Fatal(err)
		}
		refs, err := repo.Refs("")
		if err != nil {
			w.Fatal(err)
		}
		for ref, id := range refs {
			if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
				o.Branches[name+" "+branch] = id
				continue
			}
			view, err := repo.View(id)
			if err != nil {
				w.Fatal(err)
			}
			var text strings.Builder
			for path, data := range view.Tree.All() {
				fmt.Fprintf(&text, "=== %s\n%s\n", path, numbers.ReplaceAll(times.ReplaceAll(data, nil), []byte("Pull request N")))
			}
			if err := view.Err(); err != nil {
				w.Fatal(err)
			}
			kind := name + " " + numbers.ReplaceAllString(ref, "$1")
			o.Documents[kind] = append(o.Documents[kind], text.String())
		}
	}
	for _, all := range o.Documents {
		slices.Sort(all)
	}
	return o
}

func (w *world) wantOutcome(what string, want outcome) {
	w.Helper()
	if diff := cmp.Diff(want, w.outcome()); diff != "" {
		w.Fatalf("%s: the end is another (-undisturbed +this):\n%s\nthe log:\n%s", what, diff, w.logs.String())
	}
}

// disturbances are situations in which a cycle has something to do.
var disturbances = map[string]struct {
	environments []string
	before       func(w *world)
	want         string // a step that there is
}{
	"first run":      {[]string{"dev", "prod"}, func(*world) {}, "open the pull request"},
	"missing branch": {[]string{"dev"}, func(w *world) { w.more += "output: {create: true}\n"; w.drop("out", "dev") }, "create the output branch"},
	"update": {[]string{"dev"}, func(w *world) {
		w.life(w.data)
		w.level("debug", "warning")
	}, "edit the pull request"},
	"merged by hand": {[]string{"dev"}, func(w *world) {
		w.life(w.data)
		gittest.Git(w, w.server.Dir("out"), "update-ref", "refs/heads/dev", "refs/heads/fairlead/dev")
	}, "remove our branch"},
	"nothing left": {[]string{"dev"}, func(w *world) {
		w.life(w.data)
		w.merge("dev")
		w.life(w.data)
		w.level("debug", "warning")
		w.life(w.data)
		w.level("warning", "debug")
	}, "close the pull request"},
	"a problem": {[]string{"dev"}, func(w *world) {
		w.life(w.data)
		w.level("debug", "loud")
	}, "put the issue"},
	"mended": {[]string{"dev"}, func(w *world) {
		w.level("debug", "loud")
		w.life(w.data)
		w.level("loud", "warning")
	}, "put the issue"},
	"a shared problem": {[]string{"dev", "prod"}, func(w *world) {
		w.life(w.data)
		w.breakBase()
	}, "put the issue"},
	"a shared problem, mended": {[]string{"dev", "prod"}, func(w *world) {
		w.breakBase()
		w.life(w.data)
		w.mendBase()
	}, "put the issue"},
	"issues from before": {[]string{"dev", "prod"}, func(w *world) {
		w.life(w.data)
		w.breakBase()
		w.oldIssue("dev")
		w.oldIssue("prod")
	}, "put the issue"},
}

// level changes a value of dev for which the schema allows some words only.
func (w *world) level(old, new string) {
	w.Helper()
	w.edit("dev", "configs/environment.yaml", "LOG_LEVEL: "+old, "LOG_LEVEL: "+new)
}

// drop removes a branch from a repository.
func (w *world) drop(repo, branch string) {
	w.Helper()
	gittest.Git(w, w.server.Dir(repo), "update-ref", "-d", "refs/heads/"+branch)
}

// killAtEveryStep runs a cycle that dies at each of its steps in turn, calls visit after each death, and ends with a
// cycle that lives. It returns the steps.
func (w *world) killAtEveryStep(before saved, visit func(n int, step string)) (steps []string) {
	w.Helper()
	for {
		w.restore(before)
		step := w.diesAt(len(steps)+1, w.data)
		if step == "" {
			return steps
		}
		steps = append(steps, step)
		visit(len(steps), step)
	}
}

// beginAgain has the process begin again with the data folder that was left behind, or, after every second step,
// without: TestKilledAtEveryStep does both after each.
func (w *world) beginAgain(want outcome) func(n int, step string) {
	return func(n int, step string) {
		w.Helper()
		data, with := w.data, "again"
		if n%2 == 0 {
			data, with = w.TempDir(), "with nothing"
		}
		w.life(data)
		w.wantOutcome(fmt.Sprintf("killed at step %d (%s), and begun %s", n, step, with), want)
	}
}

// TestKilledAtEveryStep: whenever the process dies, the next one comes to the same
// end, with the data folder that was left behind and without.
func TestKilledAtEveryStep(t *testing.T) {
	for name, test := range disturbances {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scaffold.Branches, test.environments...)
			w.more += "parallel: 1\n" // so that the server is at rest when the process dies
			test.before(w)
			w.now = w.now.Add(time.Hour)
			before := w.save()
			w.life(w.data)
			want := w.outcome()
			w.life(w.data)
			w.wantOutcome("a second cycle", want)

			steps := w.killAtEveryStep(before, func(n int, step string) {
				dead := w.save()
				w.life(w.data)
				w.wantOutcome(fmt.Sprintf("killed at step %d (%s), and begun again", n, step), want)
				w.restore(dead)
				w.life(w.TempDir())
				w.wantOutcome(fmt.Sprintf("killed at step %d (%s), and begun with nothing", n, step), want)
			})
			w.wantOutcome("never killed", want)
			if !slices.Contains(steps, test.want) {
				t.Errorf("the steps were %q, without %q", steps, test.want)
			}
		})
	}
}

// TestTwoDaemons: two that do the same at the same time are no more than one.
func TestTwoDaemons(t *testing.T) {
	for name, test := range disturbances {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scaffold.Branches, test.environments...)
			test.before(w)
			w.server.LeaveToGit()
			before := w.save()
			w.life(w.data)
			want := w.outcome()
			w.restore(before)

			one, two := w.begin(w.data), w.begin(t.TempDir())
			for range 3 {
				w.now = w.now.Add(time.Hour)
				var both sync.WaitGroup
				for _, d := range []*daemon{one, two} {
					both.Go(func() {
						if err := d.Cycle(context.Background()); err != nil {
							t.Error(err)
						}
					})
				}
				both.Wait()
			}
			w.wantOutcome("two daemons", want)
			for _, d := range []*daemon{one, two} {
				for _, e := range test.environments {
					if s := d.state(e); s.Error != "" {
						t.Errorf("%s ends with %s", e, s.Error)
					}
				}
			}
		})
	}
}
