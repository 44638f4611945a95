package publish_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// TestCommitsInTheText: the text of the pull request has the commits since those that the output
// branch was rendered from, and stays as it is while nothing changes.
func TestCommitsInTheText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.git("checkout", "-q", "--orphan", "history") // stands for the repository of the base
	commits := []string{w.commit("history", "a", "1")}
	for _, text := range []string{"2", "3", "4"} {
		commits = append(commits, w.commit("history", "a", text))
	}
	p := w.publisher()
	at := func(text, commit string) publish.Proposal {
		proposal := w.simple(text)
		proposal.Inputs[0].Commit = commit
		proposal.CommitsSince = func(in source.Commit, before string) publish.Commits {
			return publish.ReadCommits(p.Remote.Mirror(), before, in.Commit)
		}
		return proposal
	}
	if body := p.want(publish.Proposed, at("a", commits[1])).Pull.Body; strings.Contains(body, "### Why") {
		t.Errorf("the first output has commits:\n%s", body)
	}
	w.merge()
	p.want(publish.InSync, at("a", commits[1]))
	for name, test := range map[string]struct {
		to   string
		want string
	}{
		"forward":   {commits[3], "- `base`:\n  - [`" + commits[3][:12] + "`](https://git.example.com/cp/commit/" + commits[3] + ") by hand ("},
		"back":      {commits[0], "` goes **back** from [`" + commits[1][:12]},
		"elsewhere": {strings.Repeat("e", 40), "` moves from [`" + commits[1][:12]},
	} {
		body := p.want(publish.Proposed, at("b", test.to)).Pull.Body
		if _, why, _ := strings.Cut(body, "### Why"); !strings.Contains(why, test.want) {
			t.Errorf("%s: the text does not have %q:\n%s", name, test.want, body)
		}
		p.want(publish.Proposed, at("b", test.to))
		equal(t, name+": calls when nothing changes", strings.Join(p.forge.calls, " "), "open pulls")
	}
}

// TestReadCommits: the commits between two, newest first, without merges.
func TestReadCommits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.commit("main", "a", "1")
	w.git("checkout", "-q", "-b", "side")
	w.person.Write("b", "1")
	side := w.person.Commit("aside")
	w.git("checkout", "-q", "main")
	second := w.commit("main", "a", "2")
	w.git("merge", "-q", "--no-ff", "-m", "a merge", "side")
	w.person.Push("main")
	merge := w.branch("main")
	p := w.publisher()
	if _, err := p.Remote.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, before, after, want string
		back                      bool
	}{
		{"one", first, second, second, false},
		{"a merge", first, merge, second + " " + side, false},
		{"back", second, first, second, true},
		{"a sibling", second, side, "", false},
		{"one that is not there", strings.Repeat("e", 40), second, "", false},
	} {
		c := publish.ReadCommits(p.Remote.Mirror(), test.before, test.after)
		var got []string
		for _, one := range c.All {
			got = append(got, one.ID)
		}
		equal(t, test.name, strings.Join(got, " "), test.want)
		equal(t, test.name+", back", c.Back, test.back)
	}
}
