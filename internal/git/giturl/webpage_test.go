package giturl

import (
	"strings"
	"testing"
)

// TestPages: only a repository of a web server has pages, and a line only where the kind of forge is known.
func TestPages(t *testing.T) {
	id := strings.Repeat("0a", 20)
	for _, c := range []struct{ location, commit, file, line string }{
		{"https://github.com/acme/fleet.git", "https://github.com/acme/fleet/commit/" + id, "a b/c#.yaml", "https://github.com/acme/fleet/blob/" + id + "/a%20b/c%23.yaml#L7"},
		{"https://gitlab.acme.example/x/y/fleet", "https://gitlab.acme.example/x/y/fleet/commit/" + id, "c.yaml", "https://gitlab.acme.example/x/y/fleet/blob/" + id + "/c.yaml#L7"},
		{"http://gitea.local:3000/acme/fleet", "http://gitea.local:3000/acme/fleet/commit/" + id, "c.yaml", "http://gitea.local:3000/acme/fleet/src/commit/" + id + "/c.yaml#L7"},
		{"https://git.acme.example/fleet", "https://git.acme.example/fleet/commit/" + id, "c.yaml", ""},
		{"git@github.com:acme/fleet.git", "", "c.yaml", ""},
		{"https://user@github.com/acme/fleet", "", "c.yaml", ""},
		{"javascript:alert(1)", "", "c.yaml", ""},
		{"/srv/git/github", "", "c.yaml", ""},
		{"https://github.com/acme/fleet?x=y", "", "c.yaml", ""},
	} {
		if got := CommitPage(c.location, id); got != c.commit {
			t.Errorf("the page of a commit of %s is %q, want %q", c.location, got, c.commit)
		}
		if got := FilePage(c.location, id, c.file, 7); got != c.line {
			t.Errorf("the page of a line of %s is %q, want %q", c.location, got, c.line)
		}
	}
	if got := CommitPage("https://github.com/acme/fleet", "main"); got != "" {
		t.Errorf("the page of no commit is %q", got)
	}
	if got, want := FilePage("https://github.com/acme/fleet", id, "c.yaml", 0), "https://github.com/acme/fleet/blob/"+id+"/c.yaml"; got != want {
		t.Errorf("the page of a file is %q, want %q", got, want)
	}
}
