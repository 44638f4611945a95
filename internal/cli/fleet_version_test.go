package cli

import "testing"

// TestVersionCell shows versions for people, and for programs.
func TestVersionCell(t *testing.T) {
	for _, c := range []struct {
		cell        versionCell
		text, exact string
	}{
		{versionCell{"1.4.2", "main@sha1:2222222222222222222222222222222222222222", ""}, "1.4.2", "1.4.2"},
		{versionCell{"", "main@sha1:2222222222222222222222222222222222222222", ""}, "2222222", "2222222"},
		{versionCell{"", "2.1.0", ""}, "2.1.0", "2.1.0"},
		{versionCell{"", "2.1.0", "6.6.1"}, "2.1.0 (6.6.1)", "2.1.0"},
		{versionCell{"", "2.1.0+0cc9a8446c95", "6.6.1"}, "2.1.0 (6.6.1)", "2.1.0+0cc9a8446c95"},
		{versionCell{"", "", ""}, "", ""},
	} {
		if c.cell.String() != c.text || c.cell.ExactText() != c.exact {
			t.Errorf("%+v: %q and %q, want %q and %q", c.cell, c.cell.String(), c.cell.ExactText(), c.text, c.exact)
		}
	}
}
