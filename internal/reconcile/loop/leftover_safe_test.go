package loop_test

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/web"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// settled makes a world with dev and prod in sync, which Fairlead merges by itself.
func settled(t *testing.T, layout scaffold.Layout) (*world, *daemon) {
	t.Helper()
	w := newWorld(t, layout, "dev", "prod")
	w.more += "merge: {dev: direct, prod: direct}\n"
	d := w.begin(w.data)
	d.cycle()
	w.letIn("dev", "prod")
	d.cycle()
	w.letIn("dev", "prod")
	d.cycle()
	d.want(map[string]status.State{"dev": status.InSync, "prod": status.InSync})
	return w, d
}

// nothingLeft checks that nothing of prod was withdrawn or proposed to be removed.
func (w *world) nothingLeft(before map[string]string) {
	w.Helper()
	if pulls := w.pullsOf("removal of prod"); len(pulls) > 0 {
		w.Errorf("%d pull requests remove what must stay; the log:\n%s", len(pulls), w.logs.String())
	}
	now := gittest.Refs(w, w.server.Dir("out"))
	for ref, head := range before {
		if now[ref] != head && strings.HasPrefix(ref, "refs/heads/") {
			w.Errorf("%s was at %s, and is at %q; the log:\n%s", ref, head, now[ref], w.logs.String())
		}
	}
}

// TestMistakesWithdrawNothing: an environment whose file cannot be read as one is not gone, for a
// daemon that runs and for one that begins.
func TestMistakesWithdrawNothing(t *testing.T) {
	for name, edit := range map[string][2]string{
		"YAML":       {"metadata:", "metadata: {"},
		"kind":       {"kind: Environment", "kind: Enviroment"},
		"apiVersion": {"scheduler.kalypso.io/v1alpha1", "scheduler.kalypso.io/v1alpha"},
		"group":      {"scheduler.kalypso.io/v1alpha1", "shceduler.kalypso.io/v1alpha1"},
		"a field":    {"controlPlane:", "contrlPlane:"},
	} {
		for how, begin := range map[string]func(w *world, d *daemon) *daemon{
			"running": func(_ *world, d *daemon) *daemon { return d },
			"began":   func(w *world, d *daemon) *daemon { d.Close(); return w.begin(w.TempDir()) },
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				w, d := settled(t, scaffold.Branches)
				proposed(w, d)
				before := gittest.Refs(t, w.server.Dir("out"))
				w.edit("main", ".environments/prod.yaml", edit[0], edit[1])
				d = begin(w, d)
				for range 3 {
					d.cycle()
				}
				delete(before, "refs/heads/dev")
				w.nothingLeft(before)
				if p := w.open("prod"); p.State != forge.Open {
					t.Errorf("its pull request is %s", p.State)
				}
			})
		}
	}
}

// TestOthersOutput: what others have in the GitOps repository is theirs: another control plane
// with an environment of the same name and the same prefix, and people who have copied a
// branch or a folder.
func TestOthersOutput(t *testing.T) {
	w, d := settled(t, scaffold.Branches)
	proposed(w, d)
	out := w.server.Dir("out")
	gittest.Git(t, out, "branch", "backup", "prod")
	gittest.Git(t, out, "branch", "hotfix/prod", "prod")
	gittest.Git(t, out, "branch", "fairlead/staging", "prod") // somebody's, with our prefix
	before := gittest.Refs(t, out)
	delete(before, "refs/heads/dev")

	// A second control plane in the same GitOps repository has had a prod as well.
	w.server.Create("cp2")
	w.server.Create("out2")
	second := worldOn(t, w.server, "cp2", "out2", scaffold.Branches, []string{"dev2", "prod"})
	second.more += "merge: {dev2: direct, prod: direct}\n"
	second.people.Pull("dev2")
	for _, file := range strings.Fields(gittest.Git(t, w.server.Dir("cp2"), "grep", "-l", "out2", "dev2")) {
		file = strings.TrimPrefix(file, "dev2:")
		second.people.Write(file, strings.ReplaceAll(gittest.Show(t, second.people.Dir, "HEAD", file), "out2", "out"))
	}
	second.people.Commit("the same repository")
	second.people.Push("dev2")
	second.more += "output: {create: true}\n"
	second.remove("prod")
	if _, err := w.plain("out").PutIssue(t.Context(), forge.Issue{Mark: "problems of prod", Title: "of the first", Open: true}); err != nil {
		t.Fatal(err)
	}
	other := second.begin(t.TempDir())
	for range 3 {
		other.cycle()
	}
	w.nothingLeft(before)
	if !w.openIssue("prod") {
		t.Error("the issue of the first control plane is closed")
	}

	// Of those that are ours only what the control plane said counts.
	w.remove("prod")
	for range 3 {
		d.cycle()
	}
	for _, ref := range []string{"refs/heads/backup", "refs/heads/hotfix/prod", "refs/heads/fairlead/staging", "refs/heads/prod"} {
		if now := gittest.Refs(t, out)[ref]; now != before[ref] {
			t.Errorf("%s is at %q", ref, now)
		}
	}
	pulls := w.pullsOf("removal of prod")
	if len(pulls) != 1 || pulls[0].Base != "prod" {
		t.Errorf("of the removal there is %+v", pulls)
	}
}

// TestKept: an output that is to stay stays, as the settings say or as people say who close the
// pull request that removes it; nothing is proposed again.
func TestKept(t *testing.T) {
	for _, name := range []string{"settings", "declined"} {
		t.Run(name, func(t *testing.T) {
			w, d := settled(t, scaffold.Branches)
			before := w.head("out", "prod")
			if name == "settings" {
				d.Settings().Output.Retired = "keep"
			}
			w.remove("prod")
			d.cycle()
			if name == "declined" {
				if err := w.plain("out").ClosePull(t.Context(), w.pullsOf("removal of prod")[0].Number, "we keep it"); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				d.cycle()
				d.Close()
				w.change(w.now.Minute() + w.now.Hour())
				retired := d.Settings().Output.Retired
				d = w.begin(w.TempDir())
				d.Settings().Output.Retired = retired
				d.cycle()
			}
			open := slices.DeleteFunc(w.pullsOf("removal of prod"), func(p forge.Pull) bool { return p.State != forge.Open })
			if len(open) > 0 || w.head("out", "prod") != before {
				t.Errorf("open are %+v, and prod is at %s, not %s", open, w.head("out", "prod"), before)
			}
			d.want(map[string]status.State{"dev": status.InSync})
		})
	}
}

// TestMoved: an output that goes elsewhere leaves nothing behind: the old folder goes with the
// new one where they are on one branch, and by a pull request of its own elsewhere. Nobody
// but people merges either.
func TestMoved(t *testing.T) {
	for name, down := range map[string]bool{"running": false, "daemon down": true} {
		t.Run("folder, "+name, func(t *testing.T) {
			w, d := settled(t, scaffold.Folders)
			w.relocate(t, d, down, func(text string) string { return strings.Replace(text, "clusters/prod", "fleet/prod", 1) }, &d)
			p := w.open("prod")
			if !strings.Contains(p.Body, "it moves the output of prod from the folder clusters/prod to the folder fleet/prod, and removes it there") || !slices.Contains(p.Labels, "removals") {
				t.Fatalf("the pull request has the labels %v and says\n%s", p.Labels, p.Body)
			}
			w.merge("prod")
			d.cycle()
			d.cycle()
			var there []string
			for file := range gittest.Files(t, w.server.Dir("out"), "main") {
				if strings.HasPrefix(file, "clusters/prod/") && strings.HasSuffix(file, ".yaml") {
					there = append(there, file)
				}
			}
			if len(there) > 0 {
				t.Errorf("there are still %v", there)
			}
			d.want(map[string]status.State{"dev": status.InSync, "prod": status.InSync})
			if pulls := w.pullsOf("removal of prod"); len(pulls) > 0 {
				t.Errorf("there is %+v as well", pulls)
			}
			d.cycle()
			d.quiet("cp", "out")
		})
		t.Run("branch, "+name, func(t *testing.T) {
			w, d := settled(t, scaffold.Branches)
			gittest.Git(t, w.server.Dir("out"), "branch", "live", "dev~1")
			gittest.Git(t, w.server.Dir("out"), "update-ref", "refs/heads/live", gittest.Git(t, w.server.Dir("out"), "rev-list", "--max-parents=0", "prod"))
			w.relocate(t, d, down, func(text string) string { return strings.Replace(text, "branch: prod", "branch: live", 1) }, &d)
			w.letIn("prod")
			d.cycle()
			d.cycle()
			pulls := w.pullsOf("removal of prod")
			if len(pulls) != 1 || pulls[0].State != forge.Open || pulls[0].Base != "prod" || !strings.Contains(pulls[0].Body, "goes to") {
				t.Fatalf("of the removal there is %+v; the log:\n%s", pulls, w.logs.String())
			}
			d.showsRemoval("prod", "prod", pulls[0].Number)
			if err := w.plain("out").MergePull(t.Context(), pulls[0].Number, pulls[0].Commit); err != nil {
				t.Fatal(err)
			}
			d.cycle()
			d.cycle()
			d.want(map[string]status.State{"dev": status.InSync, "prod": status.InSync})
			d.showsRemoval("prod", "", 0)
			if refs := refsUnder(gittest.Refs(t, w.server.Dir("out")), "refs/heads/fairlead/"); len(refs) > 0 {
				t.Errorf("there are %v", refs)
			}
		})
	}
}

// showsRemoval checks which removal of an output the status of an environment shows: in the
// report and on the page; "" for none.
func (d *daemon) showsRemoval(environment, branch string, pull int) {
	d.Helper()
	page := httptest.NewRecorder()
	web.New(web.Options{Store: d.store}).ServeHTTP(page, httptest.NewRequest("GET", "http://localhost/environments/"+environment, nil))
	all := d.state(environment).Removals
	if branch == "" {
		if len(all) > 0 || strings.Contains(page.Body.String(), "its old output") {
			d.Errorf("there is still %+v", all)
		}
		return
	}
	want := fmt.Sprintf("its old output in branch %s, folder . of %s is to be removed: pull request %d", branch, d.server.URL("out"), pull)
	if len(all) != 1 || all[0].Pull == nil || all[0].Pull.Number != pull || !strings.HasPrefix(all[0].String(), want) {
		d.Errorf("the removals are %+v; want %s", all, want)
	}
	if !strings.Contains(page.Body.String(), want) {
		d.Errorf("the page does not say %s:\n%s", want, page.Body.String())
	}
}

// relocate changes where the output of prod goes, and runs cycles.
func (w *world) relocate(t *testing.T, d *daemon, down bool, edit func(string) string, now **daemon) {
	t.Helper()
	if down {
		d.Close()
	}
	w.people.Pull("prod")
	for _, file := range strings.Fields(gittest.Git(t, w.server.Dir("cp"), "grep", "-l", "kind: GitOpsRepo", "prod")) {
		file = strings.TrimPrefix(file, "prod:")
		text := gittest.Show(t, w.people.Dir, "HEAD", file)
		changed := edit(text)
		if changed == text {
			t.Fatalf("nothing changes in\n%s", text)
		}
		w.people.Write(file, changed)
	}
	w.people.Commit("elsewhere")
	w.people.Push("prod")
	if down {
		d = w.begin(w.TempDir())
		*now = d
	}
	for range 3 {
		d.cycle()
	}
}
