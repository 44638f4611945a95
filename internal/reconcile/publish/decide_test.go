package publish

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// TestOtherOwner: a place is taken by the record of another environment in it, on the way to it, in
// any case, or below it; a record in a folder that the place is beside does not matter.
func TestOtherOwner(t *testing.T) {
	t.Parallel()
	record := func(environments ...string) []byte {
		var written []Written
		for _, e := range environments {
			name, folder, _ := strings.Cut(e, " in ")
			written = append(written, Written{Environment: name, Folder: folder})
		}
		text, err := NewRecord(written...).Text("")
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	const at = "/" + RecordFile
	for name, test := range map[string]struct {
		files map[string][]byte
		place string
		want  Written
	}{
		"free":                           {map[string][]byte{"a/file": nil}, "a", Written{}},
		"its own":                        {map[string][]byte{"a" + at: record("dev")}, "a", Written{}},
		"taken":                          {map[string][]byte{"a" + at: record("prod")}, "a", Written{Environment: "prod", Folder: "a"}},
		"shared":                         {map[string][]byte{"a" + at: record("dev", "prod in b")}, "a", Written{Environment: "prod", Folder: "a/b"}},
		"below the root of another":      {map[string][]byte{RecordFile: record("prod")}, "a/b", Written{Environment: "prod"}},
		"below another, in upper case":   {map[string][]byte{"A/B" + at: record("prod")}, "a/b/c", Written{Environment: "prod", Folder: "A/B"}},
		"above another":                  {map[string][]byte{"a/b/c" + at: record("prod")}, "a", Written{Environment: "prod", Folder: "a/b/c"}},
		"above another, in the root":     {map[string][]byte{"a/b/c" + at: record("prod")}, "", Written{Environment: "prod", Folder: "a/b/c"}},
		"above a hidden folder":          {map[string][]byte{"a/.b" + at: record("prod")}, "a", Written{}},
		"in a hidden folder":             {map[string][]byte{".b" + at: record("prod")}, ".b", Written{Environment: "prod", Folder: ".b"}},
		"as deep as is looked":           {map[string][]byte{"a/1/2/3/4/5/6" + at: record("prod")}, "a", Written{Environment: "prod", Folder: "a/1/2/3/4/5/6"}},
		"deeper":                         {map[string][]byte{"a/1/2/3/4/5/6/7" + at: record("prod")}, "a", Written{}},
		"beside another":                 {map[string][]byte{"a" + at: record("prod")}, "b", Written{}},
		"beside another of like name":    {map[string][]byte{"ab" + at: record("prod")}, "a", Written{}},
		"not there yet, below another":   {map[string][]byte{"a" + at: record("prod")}, "a/b/c", Written{Environment: "prod", Folder: "a"}},
		"a record that cannot be read":   {map[string][]byte{"a" + at: []byte("kind: [")}, "a/b", Written{Environment: "unknown", Folder: "a"}},
		"beside one that cannot be read": {map[string][]byte{"a" + at: []byte("kind: [")}, "b", Written{}},
	} {
		whole, err := tree.FromFiles(test.files)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, otherOwner(nil, whole, "dev", "", splitFolder(test.place), 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFindWithholdings: why only a person may merge, in the order in which people read it.
func TestFindWithholdings(t *testing.T) {
	t.Parallel()
	hold, limit := Withholding{Cause: CauseHold, Reason: "held"}, Withholding{Cause: CauseRemovals, Reason: "it removes web", ChangeID: "1234"}
	for name, test := range map[string]struct {
		w    attempt
		want []Cause
	}{
		"none":                     {attempt{}, nil},
		"the caller's":             {attempt{p: Proposal{Withheld: []Withholding{hold}}}, []Cause{CauseHold}},
		"a limit":                  {attempt{excess: excess{causes: []Withholding{limit}}}, []Cause{CauseRemovals}},
		"the first write":          {attempt{first: true}, []Cause{CauseLocation}},
		"to a place that we chose": {attempt{first: true, p: Proposal{LocationChosen: true}}, nil},
		"a move":                   {attempt{movedFrom: []formerFolder{{folder: "a"}, {folder: "b"}}}, []Cause{CauseRemovals, CauseRemovals}},
		"all": {attempt{first: true, p: Proposal{Withheld: []Withholding{hold}}, excess: excess{causes: []Withholding{limit}}, movedFrom: []formerFolder{{folder: "a"}}},
			[]Cause{CauseHold, CauseRemovals, CauseLocation, CauseRemovals}},
	} {
		var got []Cause
		for _, h := range test.w.findWithholdings() {
			got = append(got, h.Cause)
			if h.Reason == "" {
				t.Errorf("%s: %s has no reason", name, h.Cause)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
