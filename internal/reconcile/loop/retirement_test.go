package loop

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// newRetirement returns a part of no loop, with settings that read one URL at another.
func newRetirement(t *testing.T, retired string) *retirement {
	t.Helper()
	s := &config.Settings{Map: map[string]string{"https://git.example.com/out": "https://mirror.example.com/out"}}
	s.Output.Retired = retired
	return &retirement{
		settings: s, remotes: repos.New(t.Context(), repos.Options{Settings: s}), ephemerals: &ephemeralLife{settings: s},
		environments: map[string]*environment{},
	}
}

func outputAt(repo, branch, folder string) model.RepoRef {
	return model.RepoRef{Repo: "https://git.example.com/" + repo, Branch: branch, Path: folder}
}

// TestNoteOutput: what an environment has left is where its output was, and where it no longer goes.
func TestNoteOutput(t *testing.T) {
	t.Parallel()
	mirror := model.RepoRef{Repo: "https://mirror.example.com/out", Branch: "dev", Path: "a"}
	for name, test := range map[string]struct {
		went    []model.RepoRef // in this order
		left    []model.RepoRef
		folders []string // of the branch that it goes to now
	}{
		"where it was":                    {[]model.RepoRef{outputAt("out", "dev", "a"), outputAt("out", "dev", "a")}, nil, nil},
		"by another URL of it":            {[]model.RepoRef{outputAt("out", "dev", "a"), mirror}, nil, nil},
		"to another folder":               {[]model.RepoRef{outputAt("out", "dev", "a"), outputAt("out", "dev", "b")}, []model.RepoRef{outputAt("out", "dev", "a")}, []string{"a"}},
		"from the root":                   {[]model.RepoRef{outputAt("out", "dev", ""), outputAt("out", "dev", "b")}, []model.RepoRef{outputAt("out", "dev", "")}, []string{""}},
		"to another branch":               {[]model.RepoRef{outputAt("out", "dev", "a"), outputAt("out", "main", "a")}, []model.RepoRef{outputAt("out", "dev", "a")}, nil},
		"to another repository":           {[]model.RepoRef{outputAt("out", "dev", "a"), outputAt("other", "dev", "a")}, []model.RepoRef{outputAt("out", "dev", "a")}, nil},
		"there and back":                  {[]model.RepoRef{outputAt("out", "dev", "a"), outputAt("out", "dev", "b"), outputAt("out", "dev", "a")}, []model.RepoRef{outputAt("out", "dev", "b")}, []string{"b"}},
		"where it could not be read":      {[]model.RepoRef{outputAt("mistyped", "dev", "a"), outputAt("out", "dev", "a")}, nil, nil},
		"nowhere, since it is not known":  {[]model.RepoRef{outputAt("out", "dev", "a"), {}}, nil, nil},
		"twice, and what is left is kept": {[]model.RepoRef{outputAt("out", "dev", "b"), outputAt("out", "dev", "a"), outputAt("out", "dev", "c")}, []model.RepoRef{outputAt("out", "dev", "b"), outputAt("out", "dev", "a")}, []string{"a", "b"}},
	} {
		for _, retired := range []string{"remove", "keep"} {
			r, e := newRetirement(t, retired), &environment{name: "dev"}
			for _, to := range test.went {
				r.noteOutput(e, to, func(place string) bool { return !strings.HasSuffix(place, "/mistyped") })
			}
			if len(e.leftBehind) == 0 {
				e.leftBehind = nil
			}
			if diff := cmp.Diff(test.left, e.leftBehind); diff != "" {
				t.Errorf("%s: left behind (-want +got):\n%s", name, diff)
			}
			want := test.folders
			if retired == "keep" {
				want = nil
			}
			if diff := cmp.Diff(want, r.leftBehindFolders(e)); diff != "" {
				t.Errorf("%s, retired: %s: folders (-want +got):\n%s", name, retired, diff)
			}
		}
	}
}

// TestRetireMoved: what was left on the same branch goes with the change, and what was left elsewhere
// once the change is proposed.
func TestRetireMoved(t *testing.T) {
	t.Parallel()
	beside, elsewhere := outputAt("out", "dev", "b"), outputAt("out", "main", "a")
	for name, test := range map[string]struct {
		retired []model.RepoRef
		left    []model.RepoRef
	}{
		"in sync":               {[]model.RepoRef{elsewhere}, nil},
		"an open pull request":  {[]model.RepoRef{elsewhere}, []model.RepoRef{beside}},
		"problems that stop it": {nil, []model.RepoRef{beside, elsewhere}},
		"it waits for its turn": {nil, []model.RepoRef{beside, elsewhere}},
		"an operation failed":   {nil, []model.RepoRef{beside, elsewhere}},
		"a closed pull request": {nil, []model.RepoRef{beside, elsewhere}},
	} {
		r := newRetirement(t, "remove")
		e := &environment{name: "dev", output: outputAt("out", "dev", "a"), leftBehind: []model.RepoRef{beside, elsewhere}, outcome: outcomes()[name]}
		r.environments["dev"] = e
		r.retireMoved()
		var retired []model.RepoRef
		for _, o := range r.retired {
			if !o.moved || o.name != "dev" {
				t.Errorf("%s: %+v is not of an environment that has moved", name, o)
			}
			retired = append(retired, o.output)
		}
		if diff := cmp.Diff(test.retired, retired); diff != "" {
			t.Errorf("%s: retired (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(test.left, append([]model.RepoRef(nil), e.leftBehind...)); diff != "" {
			t.Errorf("%s: left behind (-want +got):\n%s", name, diff)
		}
	}
}

// TestWantedAgain: what is to go stays if an environment has its output there again, and what is
// removed at the end of an environment's time is not removed twice.
func TestWantedAgain(t *testing.T) {
	t.Parallel()
	here, elsewhere := outputAt("out", "dev", "a"), outputAt("out", "dev", "b")
	for name, test := range map[string]struct {
		environments, ended []string
		what                retiredOutput
		want                bool
	}{
		"gone":                             {nil, nil, retiredOutput{name: "dev", output: here}, false},
		"there again":                      {[]string{"dev"}, nil, retiredOutput{name: "dev", output: elsewhere}, true},
		"another is there":                 {[]string{"prod"}, nil, retiredOutput{name: "dev", output: here}, false},
		"moved":                            {[]string{"dev"}, nil, retiredOutput{name: "dev", output: elsewhere, moved: true}, false},
		"moved back":                       {[]string{"dev"}, nil, retiredOutput{name: "dev", output: here, moved: true}, true},
		"moved, and gone since":            {nil, nil, retiredOutput{name: "dev", output: here, moved: true}, false},
		"its time is over":                 {nil, []string{"dev"}, retiredOutput{name: "dev", output: here}, true},
		"it is the one whose time is over": {nil, []string{"dev"}, retiredOutput{name: "dev", output: here, ended: &source.Ephemeral{}}, false},
	} {
		r := newRetirement(t, "remove")
		for _, e := range test.environments {
			r.environments[e] = &environment{name: e, output: here}
		}
		for _, e := range test.ended {
			r.ephemerals.ended = append(r.ephemerals.ended, retiredOutput{name: e, ended: &source.Ephemeral{}})
		}
		if got := r.isWantedAgain(test.what); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestFindRecords: the records of a branch are found as deep as output goes, and not in the folders
// that a record names, which are not for records.
func TestFindRecords(t *testing.T) {
	t.Parallel()
	record := func(environment string, folders ...string) []byte {
		text, err := publish.NewRecord(publish.Written{Environment: environment, Folders: folders}).Text("")
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	two, err := publish.NewRecord(publish.Written{Environment: "a"}, publish.Written{Environment: "b"}).Text("")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		files map[string][]byte
		want  map[string]string
	}{
		"none":               {map[string][]byte{"a/file": nil}, map[string]string{}},
		"the root":           {map[string][]byte{publish.RecordFile: record("dev")}, map[string]string{"": "dev"}},
		"below the root":     {map[string][]byte{publish.RecordFile: record("dev"), "b/" + publish.RecordFile: record("prod")}, map[string]string{"": "dev", "b": "prod"}},
		"in its own folder":  {map[string][]byte{publish.RecordFile: record("dev", "b"), "b/" + publish.RecordFile: record("prod")}, map[string]string{"": "dev"}},
		"in a hidden folder": {map[string][]byte{".b/" + publish.RecordFile: record("prod")}, map[string]string{}},
		"as deep as it goes": {map[string][]byte{"a/b/c/" + publish.RecordFile: record("dev")}, map[string]string{"a/b/c": "dev"}},
		"deeper":             {map[string][]byte{"a/b/c/d/" + publish.RecordFile: record("dev")}, map[string]string{}},
		"of two":             {map[string][]byte{publish.RecordFile: two}, map[string]string{}},
		"broken":             {map[string][]byte{publish.RecordFile: []byte("kind: ["), "a/" + publish.RecordFile: record("dev")}, map[string]string{"a": "dev"}},
	} {
		whole, err := tree.FromFiles(test.files)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, findRecords(&git.View{Tree: whole})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
