package cli_test

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fairlead-io/fairlead/internal/cli"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/fetch"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
)

var update = flag.Bool("update", false, "rewrite what the scripts compare with")

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == fetch.BuilderArgument {
		os.Exit(cli.RunProcess())
	}
	testscript.Main(m, map[string]func(){"fairlead": func() {
		os.Exit(cli.RunProcess())
	}})
}

// TestScripts runs the scripts in testdata/script; each says on top what it is
// about. They know two commands besides testscript's own:
//
//	commit REPOSITORY BRANCH FOLDER   make a commit that holds the folder, on top of a branch; NAME.git is a bare repository
//	exits CODE COMMAND [ARGUMENT...]  run a command, which must end with that exit code
//	reports ENVIRONMENT NAME=PHASE... have a cluster report Kustomizations at the head of the output in gitops.git
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:   "testdata/script",
		Setup: unpackFleet,
		Cmds:  map[string]func(*testscript.TestScript, bool, []string){"commit": commit, "exits": exits, "reports": reportObjects},

		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
	})
}

// shortScripts are the folders of the scripts that -short runs.
var shortScripts = regexp.MustCompile(`^script-(approve-signed|check|check-ci|diff-base|explain|freeze|help|input-git|render-problem|rollback|schema|stack|version)$`)

// unpackFleet makes the folders of testdata/fleet.txtar, and keeps the machine's
// Git settings out.
func unpackFleet(env *testscript.Env) error {
	if testing.Short() && !shortScripts.MatchString(filepath.Base(env.WorkDir)) {
		env.T().Skip("-short runs a script of each kind: see shortScripts")
	}
	archive, err := txtar.ParseFile("testdata/fleet.txtar")
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"HOME":                env.WorkDir,
		"GIT_CONFIG_GLOBAL":   os.DevNull,
		"GIT_CONFIG_NOSYSTEM": "1",
		"GOGC":                "400", // a command lives too short a time for its garbage to matter
		"GIT_AUTHOR_NAME":     "author", "GIT_AUTHOR_EMAIL": "author@git.example", "GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z",
		"GIT_COMMITTER_NAME": "author", "GIT_COMMITTER_EMAIL": "author@git.example", "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z",
	} {
		env.Setenv(name, value)
	}
	return txtar.Write(archive, filepath.Join(env.WorkDir, "fleet"))
}

func commit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: commit REPOSITORY BRANCH FOLDER")
	}
	repository, branch, folder := ts.MkAbs(args[0]), args[1], ts.MkAbs(args[2])
	dir, bare := filepath.Join(repository, ".git"), "--no-bare"
	if filepath.Ext(repository) == ".git" {
		dir, bare = repository, "--bare"
	}
	git := func(args ...string) {
		ts.Check(ts.Exec("git", append([]string{"--git-dir", dir, "--work-tree", folder}, args...)...))
	}
	if _, err := os.Stat(repository); err != nil {
		ts.Check(ts.Exec("git", "init", "--quiet", bare, "--initial-branch", "main", repository))
	}
	git("symbolic-ref", "HEAD", "refs/heads/"+branch)
	git("add", "--all", folder)
	git("commit", "--quiet", "--allow-empty", "--message", "change "+branch)
	git("symbolic-ref", "HEAD", "refs/heads/main")
	git("config", "core.bare", "true") // what is committed is in no work tree of its own
}

func reportObjects(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: reports ENVIRONMENT NAME=PHASE...")
	}
	head, err := exec.Command("git", "-C", ts.MkAbs("gitops.git"), "rev-parse", args[0]).Output()
	ts.Check(err)
	known := recorder.Open(context.Background(), recorder.Options{
		Path: ts.MkAbs("data/ledger.db"), Mark: ts.MkAbs("data/ledger.mark"), Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	for _, arg := range args[1:] {
		name, phase, _ := strings.Cut(arg, "=")
		_, err := known.Add(observe.Event{
			Cluster: "one", Proven: true, Environment: args[0], Object: "Kustomization/flux-system/" + name,
			Branch: args[0], Commit: strings.TrimSpace(string(head)), Phase: rollout.Phase(phase), Message: "couldn't find remote ref", When: time.Now(),
		})
		ts.Check(err)
	}
	ts.Check(known.Close())
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARGUMENT...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("the exit code is %d, not %d", got, want)
	}
}
