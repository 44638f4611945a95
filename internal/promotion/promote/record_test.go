package promote_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

const newCommit = "9ae4b1f8ad3c09d74d2bc5a5bb1f0fbdb2d6a1c0"

// kalypso is what cd.yaml writes.
const kalypso = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: BaseRepo
metadata:
  name: main
spec:
  repo: https://github.com/acme/control-plane
  branch: main
  path: .
  commit: 0123456789012345678901234567890123456789
`

const top = "kind: BaseRepo\nmetadata: {name: main}\n"

func TestSetCommit(t *testing.T) {
	for _, test := range []struct{ name, text, had, want string }{
		{"as Kalypso writes it, digits only", kalypso, "0123456789012345678901234567890123456789",
			strings.Replace(kalypso, "0123456789012345678901234567890123456789", newCommit, 1)},
		{"a number with an exponent", top + "spec:\n  commit: 1234567e1\n", "1234567e1", top + "spec:\n  commit: " + newCommit + "\n"},
		{"lines end as on Windows", strings.ReplaceAll(top+"spec:\n  commit: abc\n  path: .\n", "\n", "\r\n"), "abc",
			strings.ReplaceAll(top+"spec:\n  commit: "+newCommit+"\n  path: .\n", "\n", "\r\n")},
		{"lines end as on a Macintosh", strings.ReplaceAll(top+"spec:\n  commit: abc\n  path: .\n", "\n", "\r"), "abc",
			strings.ReplaceAll(top+"spec:\n  commit: "+newCommit+"\n  path: .\n", "\n", "\r")},
		{"double quotes and a comment", top + "spec:\n  commit: \"abc\" # promoted\n", "abc", top + "spec:\n  commit: " + newCommit + " # promoted\n"},
		{"single quotes", top + "spec:\n  commit:   'abc'  \n", "abc", top + "spec:\n  commit:   " + newCommit + "  \n"},
		{"comments everywhere", "# a\n" + top + "# b\nspec: # c\n  # d\n  commit: abc\n# commit: x\n", "abc",
			"# a\n" + top + "# b\nspec: # c\n  # d\n  commit: " + newCommit + "\n# commit: x\n"},
		{"the second document", "kind: BaseRepo\nmetadata: {name: other}\nspec:\n  commit: abc\n---\n" + top + "spec:\n  commit: abc\n---\n", "abc",
			"kind: BaseRepo\nmetadata: {name: other}\nspec:\n  commit: abc\n---\n" + top + "spec:\n  commit: " + newCommit + "\n---\n"},
		{"no commit", top + "spec:\n  # where it is\n  repo: x\n", "", top + "spec:\n  commit: " + newCommit + "\n  # where it is\n  repo: x\n"},
		{"no commit, lines end as on Windows, no end", top + "spec:\r\n    repo: x", "", top + "spec:\r\n    commit: " + newCommit + "\r\n    repo: x"},
		{"an empty commit", top + "spec:\n  commit:\n  path: .\n", "", top + "spec:\n  commit: " + newCommit + "\n  path: .\n"},
		{"an empty commit with a comment", top + "spec:\n  commit: # none\n  path: .\n", "", top + "spec:\n  commit: " + newCommit + " # none\n  path: .\n"},
		{"an empty text", top + "spec:\n  commit: \"\"\n", "", top + "spec:\n  commit: " + newCommit + "\n"},
		{"null", top + "spec:\n  commit: ~\n", "", top + "spec:\n  commit: " + newCommit + "\n"},
		{"braces", top + "spec: {path: ., commit: abc, branch: main}\n", "abc", top + "spec: {path: ., commit: " + newCommit + ", branch: main}\n"},
		{"braces, empty", top + "spec: {commit: , path: .}\n", "", top + "spec: {commit: " + newCommit + ", path: .}\n"},
		{"no final newline", top + "spec:\n  commit: abc", "abc", top + "spec:\n  commit: " + newCommit},
		{"letters of several bytes in the line", top + "spec: {\"grün\": ä, commit: abc}\n", "abc", top + "spec: {\"grün\": ä, commit: " + newCommit + "}\n"},
		{"anchors elsewhere", top + "x: &a {name: main}\nspec: &b\n  branch: &c main\n  commit: abc\ny: *b\n", "abc",
			top + "x: &a {name: main}\nspec: &b\n  branch: &c main\n  commit: " + newCommit + "\ny: *b\n"},
		{"metadata by an alias", "x: &a {name: main}\nkind: BaseRepo\nmetadata: *a\nspec:\n  commit: abc\n", "abc",
			"x: &a {name: main}\nkind: BaseRepo\nmetadata: *a\nspec:\n  commit: " + newCommit + "\n"},
		{"the commit that it has", top + "spec:\n  commit: '" + newCommit + "'\n", newCommit, top + "spec:\n  commit: '" + newCommit + "'\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if had, err := promote.RecordedCommit([]byte(test.text)); err != nil || had != test.had {
				t.Errorf("commit %q, %v; want %q", had, err, test.had)
			}
			got, err := promote.SetCommit([]byte(test.text), newCommit)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestSetCommitRefuses(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"an empty file", "", promote.ErrNoRecord.Error()},
		{"another kind", "kind: Base\nmetadata: {name: main}\nspec: {commit: x}\n", promote.ErrNoRecord.Error()},
		{"another name", "kind: BaseRepo\nmetadata: {name: other}\nspec: {commit: x}\n", promote.ErrNoRecord.Error()},
		{"no spec", top, "spec of the BaseRepo main is not a mapping with fields"},
		{"an alias for spec", "x: &a {commit: y}\n" + top + "spec: *a\n", "spec of the BaseRepo main is not a mapping with fields"},
		{"an anchor", top + "spec:\n  commit: &a abc\n", "spec.commit of the BaseRepo main is not a plain text"},
		{"an alias", top + "x: &a abc\nspec:\n  commit: *a\n", "spec.commit of the BaseRepo main is not a plain text"},
		{"a list", top + "spec:\n  commit: [abc]\n", "spec.commit of the BaseRepo main is not a plain text"},
		{"twice", top + "spec:\n  commit: abc\n  commit: def\n", "spec of the BaseRepo main has a commit twice; remove one of them"},
		{"braces without a commit", top + "spec: {path: .}\n", "spec of the BaseRepo main is written in braces and has no commit; write it in lines"},
		{"a block of lines", top + "spec:\n  commit: |\n    abc\n", "spec.commit of the BaseRepo main is a block of lines; write it in one"},
		{"two lines", top + "spec:\n  commit: \"abc\\\n    def\"\n", "spec.commit of the BaseRepo main cannot be found in its line; write it as commit: and the id"},
		{"a tag", top + "spec:\n  commit: !!str abc\n", "spec.commit of the BaseRepo main cannot be found in its line; write it as commit: and the id"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := promote.SetCommit([]byte(test.text), newCommit)
			if err == nil || err.Error() != test.want {
				t.Errorf("got %q, %v; want the error %q", got, err, test.want)
			}
		})
	}
	if _, err := promote.SetCommit([]byte("a: [\n"), newCommit); err == nil || errors.Is(err, promote.ErrNoRecord) {
		t.Errorf("broken YAML gives %v", err)
	}
}

// Kubernetes, and Kalypso's scheduler, read what we write as text, however much it
// looks like a number.
func TestWrittenCommitIsText(t *testing.T) {
	for _, commit := range []string{newCommit, strings.Repeat("0", 40), "1234567", "12345e67", "1e10", "0123456", "0x12", "0b11", "0o17", "1_0", "089", "190:20", "1.5", "true", "null", "~", "2020-01-01", "a: b", "#x", "", "a\nb"} {
		text := promote.NewRecord("https://github.com/acme/control-plane", "main", commit)
		changed, err := promote.SetCommit([]byte(kalypso), commit)
		if err != nil {
			t.Errorf("%q: %v", commit, err)
		}
		for _, text := range [][]byte{text, changed} {
			var read struct {
				Spec struct{ Commit any }
			}
			if err := yaml.Unmarshal(text, &read); err != nil || read.Spec.Commit != commit {
				t.Errorf("%q is read as %T %v (%v) of\n%s", commit, read.Spec.Commit, read.Spec.Commit, err, text)
			}
			if got, err := promote.RecordedCommit(text); err != nil || got != commit {
				t.Errorf("%q comes back as %q, %v", commit, got, err)
			}
		}
	}
}

func TestNewRecord(t *testing.T) {
	want := strings.Replace(kalypso, "0123456789012345678901234567890123456789", newCommit, 1)
	if diff := cmp.Diff(want, string(promote.NewRecord("https://github.com/acme/control-plane", "main", newCommit))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// FuzzSetCommit holds what people rely on: nothing but the commit changes, and nothing
// outside of its line.
func FuzzSetCommit(f *testing.F) {
	for _, text := range []string{kalypso, top + "spec:\n  repo: x", top + "spec: {commit: a, b: c}", top + "spec:\r\n  commit: 'a'\r\n", "\ufeff" + kalypso, top + "spec:\r  commit: a\r", top + "spec:\n  commit:\n"} {
		f.Add([]byte(text), newCommit)
	}
	f.Add([]byte("---\n"+top+"? spec\n: repo: x\n"), "12345678")
	f.Fuzz(func(t *testing.T, text []byte, commit string) {
		before := bytes.Clone(text)
		got, err := promote.SetCommit(text, commit)
		if !bytes.Equal(before, text) {
			t.Fatal("the text that was passed in has changed")
		}
		if err != nil {
			return
		}
		if again, err := promote.RecordedCommit(got); err != nil || again != commit {
			t.Errorf("%q is read back as %q, %v", commit, again, err)
		}
		if !sameOtherLines(string(text), string(got)) {
			t.Errorf("other lines changed:\n%q\n%q", text, got)
		}
		had, err := promote.RecordedCommit(text)
		if err != nil || had == "" {
			return
		}
		back, err := promote.SetCommit(got, had)
		if err == nil && !sameOtherLines(string(text), string(back)) {
			t.Errorf("the way back gives %q, %v", back, err)
		}
	})
}

// sameOtherLines reports whether two texts differ in one line at most, or by one that
// came in.
func sameOtherLines(old, new string) bool {
	a, b := strings.SplitAfter(old, "\n"), strings.SplitAfter(new, "\n")
	begin := 0
	for begin < min(len(a), len(b)) && a[begin] == b[begin] {
		begin++
	}
	end := 0
	for end < min(len(a), len(b))-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return len(a)-begin-end <= 1 && len(b)-begin-end <= 1
}
