package loop_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
)

const (
	soundLine  = "LOG_LEVEL: info"
	brokenLine = "LOG_LEVEL: [info"
)

// breakBase makes a mistake in a file that all environments share, and mendBase mends it.
func (w *world) breakBase() { w.edit("main", "configs/fleet.yaml", soundLine, brokenLine) }
func (w *world) mendBase()  { w.edit("main", "configs/fleet.yaml", brokenLine, soundLine) }

// sharedMark is the mark of the issue about shared files, of a daemon for all environments.
func (w *world) sharedMark() string { return "main in " + giturl.Normalize(w.place) }

// oldIssue opens an issue of an environment as it was before there was one about shared files.
func (w *world) oldIssue(environment string) {
	w.Helper()
	_, err := w.plain("out").PutIssue(w.Context(), forge.Issue{
		Mark: "problems of " + environment, Title: environment + ": 1 problem in the control plane", Body: "- base/configs/fleet.yaml:11: it is not YAML\n", Open: true,
	})
	if err != nil {
		w.Fatal(err)
	}
}

// openIssues returns the titles of the open issues with one of these marks.
func (w *world) openIssues(marks ...string) (titles []string) {
	w.Helper()
	for _, mark := range marks {
		for _, text := range w.issues(mark) {
			if title, open := strings.CutPrefix(strings.Split(text, "\n")[0], "open "); open {
				_, title, _ = strings.Cut(title, " ")
				titles = append(titles, title)
			}
		}
	}
	return titles
}

// TestSharedProblem: a mistake in a file of the base is one issue, however many environments it
// stops; an environment's issue has only what is wrong with its own files. Each closes when that
// is mended, also if the daemon was down meanwhile.
func TestSharedProblem(t *testing.T) {
	for how, begin := range restarts {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t, scaffold.Branches, "dev", "prod")
			marks := []string{w.sharedMark(), "dev", "prod"}
			d := w.begin(w.data)
			d.cycle()
			again := func(want ...string) {
				t.Helper()
				for range 2 {
					d.cycle()
					if got := w.openIssues(marks...); !slices.Equal(got, want) {
						t.Fatalf("the open issues are %q, want %q; the log:\n%s", got, want, w.logs.String())
					}
				}
				d.Close()
				d = begin(w)
				d.cycle()
				d.cycle()
				if got := w.openIssues(marks...); !slices.Equal(got, want) {
					t.Fatalf("after a restart the open issues are %q, want %q", got, want)
				}
			}
			again()
			w.breakBase()
			again("1 problem in shared files stops dev and prod")
			d.want(map[string]status.State{"dev": status.Problems, "prod": status.Problems})
			text := w.issues(w.sharedMark())[0]
			if n := strings.Count(text, "base/configs/fleet.yaml:"); n != 1 || strings.Contains(text, "— in") {
				t.Errorf("the problem stands there %d times:\n%s", n, text)
			}
			w.breaks("prod")
			again("1 problem in shared files stops dev and prod", "prod: 1 problem in the control plane")
			if own := w.issues("prod")[0]; strings.Contains(own, "fleet.yaml") || !strings.Contains(own, "ClusterTypo") {
				t.Errorf("the issue of prod is:\n%s", own)
			}
			w.edit("prod", "cluster-types/cloud.yaml", "kind: ClusterTypo", "kind: ClusterType")
			again("1 problem in shared files stops dev and prod")
			if own := w.issues("prod")[0]; !strings.HasPrefix(own, "closed") || !strings.Contains(own, "in the issue about shared files") {
				t.Errorf("the issue of prod is:\n%s", own)
			}
			w.mendBase()
			again()
			if all := w.issues(w.sharedMark()); len(all) != 1 || !strings.HasPrefix(all[0], "closed") {
				t.Errorf("the issues about shared files are %q", all)
			}
			d.want(map[string]status.State{"dev": status.Proposed, "prod": status.Proposed})
			d.quiet("cp", "out")
		})
	}
}

// TestSharedProblemOfFormer: issues of environments from before there was one about shared files
// close, and say where their problem is now.
func TestSharedProblemOfFormer(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	w.oldIssue("dev")
	w.oldIssue("prod")
	w.breakBase()
	d := w.begin(w.data)
	d.cycle()
	for _, name := range []string{"dev", "prod"} {
		if all := w.issues(name); len(all) != 1 || !strings.HasPrefix(all[0], "closed") || !strings.Contains(all[0], "in the issue about shared files") {
			t.Errorf("the issues of %s are %q", name, all)
		}
	}
	if open := w.openIssues(w.sharedMark()); len(open) != 1 {
		t.Errorf("the issues about shared files are %q", open)
	}
	d.quiet("cp", "out")
}

// TestSharedProblemUnknown: while it is not known what is wrong with an environment, the issue stays.
func TestSharedProblemUnknown(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	w.breakBase()
	d := w.begin(w.data)
	d.cycle()
	d.Close()
	w.mendBase()
	var panics bomb
	panics.set("render", "prod")
	d = w.begin(w.data, panics.into)
	d.cycle()
	if open := w.openIssues(w.sharedMark()); len(open) != 1 {
		t.Errorf("while prod is not known, the open issues are %q", open)
	}
	if !panics.set("", "") {
		t.Fatal("prod was rendered")
	}
	w.now = w.now.Add(time.Hour)
	d.cycle()
	if open := w.openIssues(w.sharedMark()); len(open) != 0 {
		t.Errorf("once it is known, the open issues are %q; the log:\n%s", open, w.logs.String())
	}
}

// TestSharedProblemRefused: an issue that the forge refuses is opened once the forge takes it; until
// then the report of each environment says so, with its problems.
func TestSharedProblemRefused(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	d := w.begin(w.data)
	d.cycle()
	refuses := &refusingForge{err: errors.New("403 Forbidden: the token lacks write:issue")}
	err := d.Wrap(w.server.URL("out"), func(f forge.Forge) forge.Forge {
		refuses.Forge = f
		return refuses
	})
	if err != nil {
		t.Fatal(err)
	}
	w.breakBase()
	for range 3 {
		d.cycle()
		d.want(map[string]status.State{"dev": status.Problems, "prod": status.Problems})
		for _, name := range []string{"dev", "prod"} {
			if e := d.state(name); e.Error != "" || !strings.Contains(e.Reason, "403 Forbidden: the token lacks write:issue") {
				t.Errorf("of %s it says %q, and the error %q", name, e.Reason, e.Error)
			}
		}
	}
	refuses.err = nil
	d.cycle()
	d.cycle()
	if open := w.openIssues(w.sharedMark(), "dev", "prod"); len(open) != 1 || strings.Contains(d.state("dev").Reason, "403") {
		t.Errorf("once the forge takes them, the issues are %q, and it says %q", open, d.state("dev").Reason)
	}
}

// TestSharedProblemOfOthers: two daemons for different environments of one control plane leave each
// other's issue alone.
func TestSharedProblemOfOthers(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "prod")
	w.breakBase()
	more := w.more
	for range 2 {
		for _, name := range []string{"dev", "prod"} {
			w.more = more + "environments: [" + name + "]\n"
			d := w.begin(w.TempDir())
			d.cycle()
			d.cycle()
			d.Close()
		}
	}
	got := w.openIssues(w.sharedMark(), w.sharedMark()+" for dev", w.sharedMark()+" for prod")
	if want := []string{"1 problem in shared files stops dev", "1 problem in shared files stops prod"}; !slices.Equal(got, want) {
		t.Errorf("the open issues are %q, want %q", got, want)
	}
}

// TestSharedProblemOnGitHub: there is one issue, and a bound on the calls.
func TestSharedProblemOnGitHub(t *testing.T) {
	t.Parallel()
	fake := githubfake.Serve(t)
	fake.Create(githubCP)
	fake.Create(githubOut)
	w := worldOn(t, fake.Git, githubCP, githubOut, scaffold.Branches, []string{"dev", "stage", "prod"})
	w.kind = "kind: github, api: \"" + fake.API() + "\""
	w.secret = map[string]string{"TOKEN": fake.Token}
	w.more += "remotes: [{url: \"" + strings.TrimSuffix(fake.Git.URL(""), "/.git") + "/\", token: {env: TOKEN}}]\n"
	d := w.begin(w.data)
	d.cycle()
	w.breakBase()
	before := len(fake.Requests())
	d.cycle()
	posted := 0
	for _, r := range fake.Requests()[before:] {
		if strings.Contains(fmt.Sprint(r), "{POST /repos/"+githubOut+"/issues ") {
			posted++
		}
	}
	if posted != 1 {
		t.Errorf("%d issues were opened: %v", posted, fake.Requests()[before:])
	}
	d.quiet(githubOut)
}
