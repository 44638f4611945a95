package loop_test

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestFoxtrot: a person merges main into their own work and pushes that to main. What was on
// main is on main, whichever parent is the first.
func TestFoxtrot(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, two("gates: [approval: {by: [a@example.com]}]"), "dev", "stage")
	names := map[string]string{}
	zero := w.changeNow(0)
	names[zero] = "0"
	side := w.head("cp", "main")
	w.commitNow("stage", "promote by hand", map[string]string{"base-repo.yaml": recordText(w, zero)})
	one := w.changeNow(1)
	names[one] = "1"
	d := w.begin(w.data)
	d.settle("dev", "stage")
	w.wantLine(names, "dev=1 stage=0")

	gittest.Git(t, w.people.Dir, "fetch", "-q", "origin")
	gittest.Git(t, w.people.Dir, "checkout", "-q", "-B", "mine", side)
	w.people.Write("mine.txt", "mine\n")
	mine := w.people.Commit("my own work")
	names[mine] = "mine"
	gittest.Git(t, w.people.Dir, "merge", "-q", "--no-ff", "-m", "merge main into mine", one)
	gittest.Git(t, w.people.Dir, "push", "-q", "origin", "mine:main")
	merge := w.head("cp", "main")
	if first := gittest.Git(t, w.server.Dir("cp"), "rev-parse", "main^1"); first != mine {
		t.Fatalf("the first parent is %s, want %s", first, mine)
	}
	names[merge] = "merge"
	w.approve("stage", one)
	d.settle("dev", "stage")
	w.wantLine(names, "dev=merge stage=1")
	w.approve("stage", merge)
	d.settle("dev", "stage")
	w.wantLine(names, "dev=merge stage=merge")
	names[w.changeNow(2)] = "2"
	d.settle("dev", "stage")
	w.wantLine(names, "dev=2 stage=merge")
}

// intoFolders moves the base to a folder of main, and what is on the branches of environments
// to others: main is their branch from now on.
func (w *world) intoFolders(environments ...string) {
	w.Helper()
	w.people.Pull("main")
	for file, text := range gittest.Files(w, w.server.Dir("cp"), "main") {
		if !strings.HasPrefix(file, ".") {
			w.people.Remove(file)
			w.people.Write("base/"+file, text)
		}
	}
	for _, environment := range environments {
		folder := "environments/" + environment
		for file, text := range gittest.Files(w, w.server.Dir("cp"), environment) {
			w.people.Write(path.Join(folder, file), text)
		}
		w.people.Write(folder+"/base-repo.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: main}\nspec:\n  repo: "+w.place+"\n  branch: main\n  path: base\n")
		file := ".environments/" + environment + ".yaml"
		text := gittest.Show(w, w.people.Dir, "HEAD", file)
		changed := strings.Replace(text, "branch: "+environment, "branch: main", 1)
		if changed = strings.Replace(changed, "path: .", "path: "+folder, 1); !strings.Contains(changed, folder) {
			w.Fatalf("%s has no path:\n%s", file, text)
		}
		w.people.Write(file, changed)
	}
	w.people.Commit("environments are folders")
	w.people.Push("main")
}

// levelInFolder changes the base of such a control plane.
func (w *world) levelInFolder(text string) string {
	w.Helper()
	return w.commitNow("main", "level "+text, map[string]string{
		"base/configs/level.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: level, labels: {platform-config: \"true\"}}\ndata: {LEVEL: \"" + text + "\"}\n",
	})
}

// TestEnvironmentsAsFolders: environments that are folders of the base's own branch get each
// commit once, and what they were given is not one to promote.
func TestEnvironmentsAsFolders(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, two(""), "dev", "stage")
	w.intoFolders("dev", "stage")
	first := w.levelInFolder("1")
	d := w.begin(w.data)
	record := func(environment string) string {
		text := gittest.Show(t, w.server.Dir("cp"), "main", path.Join("environments", environment, "base-repo.yaml"))
		commit, err := promote.RecordedCommit([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return commit
	}
	commits := func() string { return gittest.Git(t, w.server.Dir("cp"), "rev-list", "--count", "main") }
	for range 8 {
		d.pass(time.Minute)
	}
	if record("dev") != first || record("stage") != first {
		t.Fatalf("dev has %s and stage %s, want %s; the log:\n%s", record("dev"), record("stage"), first, w.logs.String())
	}
	before := commits()
	for range 5 {
		d.pass(time.Minute)
	}
	if after := commits(); after != before {
		t.Fatalf("main has %s commits, and had %s: there is no end to it; the log:\n%s", after, before, w.logs.String())
	}
	d.wantNext("dev", promote.Current, "")

	// What an operator action writes there is none to promote either, and what a person writes is.
	w.commitNow("main", "hold", map[string]string{"environments/stage/.fairlead/hold.yaml": own("Hold", "hold", "{reason: a demo}")})
	second := w.levelInFolder("2")
	for range 5 {
		d.pass(time.Minute)
	}
	if record("dev") != second || record("stage") != first {
		t.Fatalf("dev has %s and stage %s, want %s and %s", record("dev"), record("stage"), second, first)
	}
	d.wantNext("stage", promote.Held, "a demo")
	d.Close()

	// A daemon that begins anew comes to the same.
	before = commits()
	d = w.begin(t.TempDir())
	for range 5 {
		d.pass(time.Minute)
	}
	if after := commits(); after != before {
		t.Fatalf("main has %s commits, and had %s", after, before)
	}
}

// TestProofIsAboutContent: the record in an output names a commit whose files a person has
// taken back, or changed. What is not there is not proven.
func TestProofIsAboutContent(t *testing.T) {
	for name, hotfix := range map[string]func(w *world, before string){
		"the files of the commit before": func(w *world, before string) {
			for file, text := range gittest.Files(w, w.server.Dir("out"), before) {
				if !strings.HasPrefix(file, ".") {
					w.hotfix(file, text)
				}
			}
		},
		"a file is changed": func(w *world, _ string) { w.hotfix(w.ownFile(), "data: {}\n") },
		"a file is removed": func(w *world, _ string) { w.hotfix(w.ownFile(), "") },
		"a file is added":   func(w *world, _ string) { w.hotfix(path.Dir(w.ownFile())+"/more.yaml", "a: 1\n") },
	} {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(t, scaffold.Branches, "    - {name: dev, proof: [soak: 3h]}\n    - {name: stage, after: [dev], proof: []}\n", "dev", "stage")
			names := map[string]string{w.changeNow(1): "1"}
			d := w.begin(w.data)
			d.settle("dev", "stage")
			w.merge("dev")
			d.settle("dev", "stage")
			before := w.head("out", "dev")
			for range 5 {
				d.pass(time.Hour)
			}
			names[w.changeNow(2)] = "2"
			d.settle("dev", "stage")
			w.wantLine(names, "dev=2 stage=1")
			w.merge("dev")
			d.settle("dev", "stage")
			if !d.stage("dev").Merged {
				t.Fatalf("dev has not merged: %+v", d.stage("dev"))
			}
			hotfix(w, before)
			w.pushHotfix()
			for range 6 {
				d.pass(time.Hour)
			}
			w.wantLine(names, "dev=2 stage=1")
			if d.stage("dev").Merged {
				t.Error("what is not on the branch counts as merged")
			}
			w.merge("dev") // people take what is proposed again
			for range 6 {
				d.pass(time.Hour)
			}
			w.wantLine(names, "dev=2 stage=2")
		})
	}
}

// TestClockAhead: a record, or a commit that the output was made from, says that it is of the
// day after tomorrow. What soaks goes on all the same, and nothing is said again and again.
func TestClockAhead(t *testing.T) {
	for name, ahead := range map[string]func(w *world) string{
		"the record": func(w *world) string {
			commit := w.changeNow(1)
			w.now = w.now.Add(48 * time.Hour)
			w.commitNow("dev", "promote by hand", map[string]string{"base-repo.yaml": recordText(w, commit)})
			w.now = w.now.Add(-48 * time.Hour)
			return commit
		},
		"the commit of the base": func(w *world) string {
			w.now = w.now.Add(48 * time.Hour)
			defer func() { w.now = w.now.Add(-48 * time.Hour) }()
			return w.changeNow(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct, proof: [soak: 3h]}\n    - {name: stage, after: [dev], merge: direct, proof: []}\n", "dev", "stage")
			names := map[string]string{ahead(w): "1"}
			d := w.begin(w.data)
			d.settle("dev", "stage")
			w.wantLine(names, "dev=1 stage=-")
			deployed := d.stage("dev").Deployed
			d.pass(time.Hour)
			if again := d.stage("dev").Deployed; deployed.IsZero() || !again.Equal(deployed) {
				t.Errorf("dev was deployed at %s, and an hour later at %s", deployed, again)
			}
			w.wantLine(names, "dev=1 stage=-")
			for range 4 {
				d.pass(time.Hour)
			}
			w.wantLine(names, "dev=1 stage=1")
		})
	}
}

// ownFile returns a file that we have written for dev.
func (w *world) ownFile() string {
	w.Helper()
	for _, file := range strings.Fields(gittest.Git(w, w.server.Dir("out"), "ls-tree", "-r", "--name-only", "dev")) {
		if !strings.HasPrefix(file, ".") && strings.HasSuffix(file, ".yaml") {
			return file
		}
	}
	w.Fatal("dev has no output")
	return ""
}

// hotfix has a person change a file of dev's output; "" removes it. pushHotfix commits it.
func (w *world) hotfix(file, text string) {
	w.Helper()
	if w.outPeople == nil {
		w.outPeople = w.server.Work(w, "out")
		w.outPeople.Pull("dev")
	}
	if text == "" {
		w.outPeople.Remove(file)
		return
	}
	w.outPeople.Write(file, text)
}

func (w *world) pushHotfix() {
	w.Helper()
	w.outPeople.Commit("hotfix")
	w.outPeople.Push("dev")
}
