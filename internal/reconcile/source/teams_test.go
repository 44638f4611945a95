package source_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestTeamStopsNoOthers: whatever a team pushes to its own repository, its stacks stay as they are, or are
// destroyed if their files are deleted; those of others go on.
func TestTeamStopsNoOthers(t *testing.T) {
	const net = "{module: {source: '{vpc}'}, variables: [{name: cidr, value: a}]}"
	for name, test := range map[string]struct {
		files        map[string]string // of the team, in the place of what it had; nil for nothing at all
		team         string            // of the environment, if it changes, too
		want         string            // of a problem, or a warning
		stops, stays bool              // the stack checkout/prod
	}{
		"link out of the repository":                  {files: map[string]string{"stacks/dev.yaml": stackText("checkout", "prod", net), "stacks/l.yaml": "-> ../../../etc/passwd"}, want: "leads out of the repository", stops: true, stays: true},
		"link in the place of a stack":                {files: map[string]string{"moved/dev.yaml": stackText("checkout", "prod", net), "stacks/dev.yaml": "-> ../moved/dev.yaml"}, want: "its file may be Team/checkout/stacks/dev.yaml, which cannot be read", stays: true},
		"patterns without end":                        {files: map[string]string{"stacks/dev.yaml": stackText("checkout", "prod", net), ".sourceignore": strings.Repeat("a*b\n", 600)}, want: "patterns with wildcards", stops: true, stays: true},
		"no stack":                                    {files: map[string]string{"stacks/dev.yaml": "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nspec: {teamName: checkout}\n"}, want: "it has no metadata", stops: true, stays: true},
		"a stack of another team":                     {files: map[string]string{"stacks/dev.yaml": stackText("checkout", "prod", net), "stacks/b.yaml": stackText("payment", "dev", net)}, want: "this is the repository of the team checkout", stops: true, stays: true},
		"its stack and another file that is not YAML": {files: map[string]string{"stacks/dev.yaml": strings.Replace(stackText("checkout", "prod", net), "value: a", "value: b", 1), "stacks/b.yaml": "kind: Environment\n a: [\n"}, want: "the file is not YAML", stops: true, stays: true},
		"folder deleted":                              {files: map[string]string{"README.md": "gone"}, want: "has no folder \"stacks\" since commit", stays: false},
		"folder deleted, protected":                   {files: map[string]string{"README.md": "gone"}, team: "spec: {teardownProtection: true, ", want: "teardownProtection", stops: true, stays: true},
		"folder that never was":                       {files: map[string]string{"stacks/dev.yaml": stackText("checkout", "prod", net)}, team: "spec: {", want: "has no folder \"misspelt\" at commit", stops: true, stays: true},
		"repository gone":                             {want: "there is no repository at", stops: true, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			sound := stackText("payment", "dev", net)
			payment := strings.NewReplacer("checkout", "payment", "{team}", "{cp}").Replace(teamText)
			w := newStackWorld(t, "teams: true", teamText+"---\n"+payment+"---\n"+sound)
			first := w.render(source.Revisions{})
			if first.Problems.Stops() || findModule(first.Tree, "checkout", "prod") == "" || findModule(first.Tree, "payment", "dev") == "" {
				t.Fatal(first.Problems)
			}
			w.replaceTeam(test.files)
			text := teamText
			switch {
			case name == "folder that never was":
				text = strings.Replace(text, "path: stacks", "path: misspelt", 1)
			case test.team != "":
				text = strings.Replace(text, "spec: {", test.team, 1)
			}
			w.push("cp", "dev", map[string]string{"stacks.yaml": w.expand(text + "---\n" + payment + "---\n" + strings.Replace(sound, "value: a", "value: changed", 1))})
			if err := w.source.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			second := w.render(source.Revisions{})
			followed, err := second.FollowOutput(first.Tree)
			if err != nil || !strings.Contains(fmt.Sprint(followed.Problems), test.want) || followed.Problems.StopsEnvironment() || followed.Problems.StopsStack("checkout/prod") != test.stops || followed.Problems.StopsStack("payment/dev") {
				t.Fatalf("%v: the problems are %v, want %q", err, followed.Problems, test.want)
			}
			const folder = "environments/checkout/prod"
			if stays := tree.Equal(followed.Tree.Sub(folder), first.Tree.Sub(folder)); stays != test.stays || followed.Tree.Sub(folder).IsEmpty() {
				t.Errorf("the stack of the team stays as it is: %t", stays)
			}
			if !strings.Contains(findModule(followed.Tree, "payment", "dev"), "changed") {
				t.Error("the other stack does not go on")
			}
			if again := w.render(recordedOf(second)); again.Tree.ID() != second.Tree.ID() || again.Problems.StopsStack("checkout/prod") != second.Problems.StopsStack("checkout/prod") {
				t.Errorf("from its record it is rendered otherwise: %v", again.Problems)
			}
		})
	}
}

// replaceTeam has the repository of the team hold some files, and nothing else; without any it is gone. What begins
// with an arrow is a symbolic link.
func (w *stackWorld) replaceTeam(files map[string]string) {
	w.Helper()
	if files == nil {
		if err := os.RemoveAll(w.Dir("team")); err != nil {
			w.Fatal(err)
		}
		return
	}
	work := w.Work(w.T, "team")
	work.Switch("main")
	gittest.Git(w.T, work.Dir, "rm", "-rq", ".")
	for file, text := range files {
		if target, isLink := strings.CutPrefix(text, "-> "); isLink {
			work.Write(file, "")
			if err := os.Remove(work.Dir + "/" + file); err != nil {
				w.Fatal(err)
			}
			if err := os.Symlink(target, work.Dir+"/"+file); err != nil {
				w.Fatal(err)
			}
			continue
		}
		work.Write(file, w.expand(text))
	}
	work.Commit("replace all")
	work.Push("main")
}

// TestTeamFolderWithoutRepository: a team whose repository is not read from folders stops its stacks only.
func TestTeamFolderWithoutRepository(t *testing.T) {
	w := newStackWorld(t, "teams: true", teamText)
	dir := w.Work(t, "cp")
	dir.Switch("dev")
	s, err := source.Open(t.Context(), source.Options{BaseDir: t.TempDir(), EnvironmentDir: dir.Dir, Parser: model.NewParser()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Render(t.Context(), "dev", source.Revisions{}, nil)
	if err != nil || r.Problems.StopsEnvironment() || !r.Problems.StopsStack("checkout/prod") {
		t.Errorf("%v %v", err, r.Problems)
	}
}

// TestHostileTree: a repository with names that files cannot have stops the stacks that are in it, or name files
// of it, and no others.
func TestHostileTree(t *testing.T) {
	const net = "{module: {source: '{vpc}'}, variables: [{name: cidr, value: a}]}"
	reads := stackText("payment", "reads", "{module: {source: '{vpc}'}, variablesFile: {source: '{vars}', path: dev/a.tfvars}}")
	payment := strings.NewReplacer("checkout", "payment", "{team}", "{cp}").Replace(teamText)
	w := newStackWorld(t, "teams: true", strings.Join([]string{teamText, payment, stackText("payment", "dev", net), reads}, "---\n"))
	for _, name := range []string{"team", "vars"} {
		file := filepath.Join(t.TempDir(), "tree")
		blob, err := hex.DecodeString(gittest.Git(t, w.Dir(name), "rev-parse", "main^{tree}"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, tree.AppendEntry(nil, tree.ModeDir, "..", tree.ID(blob)), 0o600); err != nil {
			t.Fatal(err)
		}
		id := gittest.Git(t, w.Dir(name), "hash-object", "--literally", "-t", "tree", "-w", file)
		commit := gittest.Git(t, w.Dir(name), "-c", "user.name=a", "-c", "user.email=a@example.com", "commit-tree", "-m", "hostile", id)
		gittest.Git(t, w.Dir(name), "update-ref", "refs/heads/main", commit)
	}
	r := w.render(source.Revisions{})
	for stack, stops := range map[string]bool{"checkout/prod": true, "payment/reads": true, "payment/dev": false} {
		if r.Problems.StopsStack(stack) != stops {
			t.Errorf("%s is stopped: %t, want %t: %v", stack, !stops, stops, r.Problems)
		}
	}
	if findModule(r.Tree, "payment", "dev") == "" || strings.Count(fmt.Sprint(r.Problems), "cannot be read: ") < 2 {
		t.Errorf("the problems are %v", r.Problems)
	}
	if again := w.render(recordedOf(r)); again.Tree.ID() != r.Tree.ID() {
		t.Errorf("from its record it is rendered otherwise: %v", again.Problems)
	}
}
