package ephemeral

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// treeOf makes a tree of files.
func treeOf(t *testing.T, files map[string]string) tree.Tree {
	t.Helper()
	var b tree.Builder
	for name, text := range files {
		if err := b.Add(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}

// outputOf makes the files of an output with its record, in a folder.
func outputOf(t *testing.T, folder string, environments ...string) map[string]string {
	t.Helper()
	rendered := treeOf(t, map[string]string{"edge/a.yaml": "a", "cloud/b.yaml": "b"})
	var written []publish.Written
	for _, name := range environments {
		written = append(written, publish.Written{Environment: name, Tree: rendered.ID().String(), Folders: []string{"cloud", "edge"}})
	}
	record, err := publish.NewRecord(written...).Text("ours")
	if err != nil {
		t.Fatal(err)
	}
	prefix := folder
	if prefix != "" {
		prefix += "/"
	}
	return map[string]string{prefix + publish.RecordFile: string(record), prefix + "edge/a.yaml": "a", prefix + "cloud/b.yaml": "b"}
}

// TestIsOursOnly: a branch is removed with all that is on it, so that one file of a person's keeps
// it, wherever that is.
func TestIsOursOnly(t *testing.T) {
	for name, test := range map[string]struct {
		folder       string
		environments []string
		change       map[string]string // of files; "-" removes one
		want         bool
	}{
		"our output":                {environments: []string{"pr-7"}, want: true},
		"in a folder":               {folder: "clusters", environments: []string{"pr-7"}, want: true},
		"with the promoted commit":  {environments: []string{"pr-7"}, change: map[string]string{output.TrackingFile: "abc"}, want: true},
		"of another environment":    {environments: []string{"pr-8"}},
		"of two environments":       {environments: []string{"pr-7", "dev"}},
		"a file of a person beside": {environments: []string{"pr-7"}, change: map[string]string{"readme.md": "mine"}},
		"a file of a person above":  {folder: "clusters", environments: []string{"pr-7"}, change: map[string]string{"readme.md": "mine"}},
		"a file in our folders":     {environments: []string{"pr-7"}, change: map[string]string{"edge/mine.yaml": "mine"}},
		"a file that was edited":    {environments: []string{"pr-7"}, change: map[string]string{"edge/a.yaml": "mine"}},
		"a file that was removed":   {environments: []string{"pr-7"}, change: map[string]string{"edge/a.yaml": "-"}},
		"a name that begins alike":  {folder: "clusters", environments: []string{"pr-7"}, change: map[string]string{"clusters-2/edge/a.yaml": "a"}},
		"no record":                 {environments: []string{"pr-7"}, change: map[string]string{publish.RecordFile: "-"}},
		"a broken record":           {environments: []string{"pr-7"}, change: map[string]string{publish.RecordFile: "{"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := outputOf(t, test.folder, test.environments...)
			maps.Copy(files, test.change)
			maps.DeleteFunc(files, func(_, text string) bool { return text == "-" })
			if got := isOursOnly(treeOf(t, files), test.folder, "pr-7"); got != test.want {
				t.Errorf("ours only: %v, want %v", got, test.want)
			}
		})
	}
}

// TestOwnedFiles: of an output that others have a part in, only that goes which the record of this
// environment names.
func TestOwnedFiles(t *testing.T) {
	for name, test := range map[string]struct {
		folder       string
		environments []string
		more         map[string]string
		want         []string
		fails        bool
	}{
		"our output":       {environments: []string{"pr-7"}, want: []string{publish.RecordFile, "cloud/b.yaml", "edge/a.yaml"}},
		"in a folder":      {folder: "f", environments: []string{"pr-7"}, want: []string{"f/" + publish.RecordFile, "f/cloud/b.yaml", "f/edge/a.yaml"}},
		"what was added":   {environments: []string{"pr-7"}, more: map[string]string{"edge/c.yaml": "c", "other/d.yaml": "d"}, want: []string{publish.RecordFile, "cloud/b.yaml", "edge/a.yaml", "edge/c.yaml"}},
		"the commit":       {environments: []string{"pr-7"}, more: map[string]string{output.TrackingFile: "abc"}, want: []string{publish.RecordFile, output.TrackingFile, "cloud/b.yaml", "edge/a.yaml"}},
		"of another one":   {environments: []string{"dev"}},
		"of two":           {environments: []string{"pr-7", "dev"}},
		"no record at all": {more: map[string]string{publish.RecordFile: "-"}},
		"a broken record":  {environments: []string{"pr-7"}, more: map[string]string{publish.RecordFile: "{"}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			files := outputOf(t, test.folder, test.environments...)
			maps.Copy(files, test.more)
			maps.DeleteFunc(files, func(_, text string) bool { return text == "-" })
			owned, err := ownedFiles(treeOf(t, files), test.folder, "pr-7")
			if (err != nil) != test.fails {
				t.Fatalf("the error is %v", err)
			}
			if diff := cmp.Diff(test.want, slices.Sorted(maps.Keys(owned))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for file, data := range owned {
				if data != nil {
					t.Errorf("%s is written, and not removed", file)
				}
			}
		})
	}
}
