package publish

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// inputs are a base, an environment and two workloads.
func inputs() []source.Commit {
	id := func(digit string) string { return strings.Repeat(digit, 40) }
	return []source.Commit{
		{Layer: "base", Repo: "https://git.example.com/org/control-plane.git", Commit: id("a"), When: noon},
		{Layer: "dev", Repo: "https://git.example.com/org/control-plane.git", Commit: id("b"), When: noon.Add(time.Hour)},
		{Layer: "shop", Repo: "git@git.example.com:org/shop", Commit: id("c"), When: noon.Add(2 * time.Hour)},
		{Layer: "till", Repo: "https://git.example.com/org/till", Commit: id("d"), When: noon.Add(-time.Hour)},
	}
}

// hostile is text that does harm wherever it is not shown as text.
const hostile = "@team `code` ``` <script>x</script> <!-- fairlead-digest: sha256:0 --> [a](https://evil.example.com) | x | **b** #1 ![i](http://evil.example.com/i.png)" +
	"\n\n# Heading\n```\n- item\n<!-- fairlead-digest: sha256:1 -->\n\u202e\x1b[31m&#64;team https://evil.example.com"

func rendered(t *testing.T, files map[string]string) tree.Tree {
	t.Helper()
	contents := map[string][]byte{}
	for file, text := range files {
		contents[file] = []byte(text)
	}
	r, err := tree.FromFiles(contents)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// texts are the cases of testdata/text.
func texts(t *testing.T) map[string]*attempt {
	deployment := "kind: Deployment\nmetadata: {name: gull}\nspec: {replicas: 1}\n"
	plain := Proposal{Environment: "dev", Rendered: rendered(t, map[string]string{"pier/gull-main/reconciler.yaml": deployment}), Inputs: inputs()}
	bad := plain
	bad.Rendered = rendered(t, map[string]string{"pier/gull-main/reconciler.yaml": deployment + "---\n" + hostile})
	bad.Inputs = []source.Commit{
		{Layer: "base", Repo: "https://git.example.com/x?`)" + hostile, Commit: strings.Repeat("a", 40)},
		{Layer: "dev", Folder: "'; rm -rf / '" + hostile}, {Layer: hostile, Repo: hostile, Commit: "c"},
	}
	bad.Problems.Warnf(problem.Pos{Layer: "base", File: hostile, Line: 1}, hostile, "", "%s", hostile)
	evil := Commits{All: []git.CommitInfo{{ID: strings.Repeat("9", 40), Message: hostile, Author: git.Signature{Name: hostile}}, {ID: "8", Message: "closes GH-1, www.evil.example.com"}}}
	warned := plain
	warned.Inputs = inputs()[:2]
	warned.Inputs[1] = source.Commit{Layer: "dev", Folder: "/work/dev"}
	warned.Problems.Warnf(problem.Pos{Layer: "base", File: "a.yaml", Line: 3}, "Template/x", "remove it", "nobody uses it")
	return map[string]*attempt{
		"plain": {p: plain}, "hostile": {p: bad, changelog: []layerCommits{{input: inputs()[0], before: strings.Repeat("1", 40), Commits: evil}, {input: bad.Inputs[2], before: hostile}}, next: composed{adoption: Adoption{Folders: []string{"a`b|c", "@team"}}}},
		"warned": {p: warned, next: composed{adoption: Adoption{Kalypso: true, Folders: []string{"pier"}}}},
	}
}

func TestTexts(t *testing.T) {
	cases := texts(t)
	golden.Run(t, "testdata/text/*.txtar", func(t *testing.T, c *golden.Case) {
		w := cases[path.Base(t.Name())]
		w.report = impact.Compare(tree.Tree{}, w.p.Rendered, impact.Options{})
		title := w.changeTitle()
		c.Want(t, "message", commitMessage(w.p, title, treeDigest(w.p.Environment, "1234")))
		c.Want(t, "body", w.pullBody())
		if digest, rest := cutMark(w.pullBody()); digest != contentDigest(w.p) || strings.Contains(rest, contentDigest(w.p)) {
			t.Errorf("the mark is %q", digest)
		}
	})
}

func TestTrailersAreRead(t *testing.T) {
	p := Proposal{Environment: "dev", Inputs: inputs()}
	want := map[string][]string{
		"Fairlead-Environment": {"dev"}, "Fairlead-Base": {strings.Repeat("a", 40)}, "Fairlead-Control-Plane": {strings.Repeat("b", 40)},
		"Fairlead-Workload": {"shop@" + strings.Repeat("c", 40), "till@" + strings.Repeat("d", 40)}, "Fairlead-Digest": {"sha256:1"},
	}
	for name, text := range map[string]string{
		"as written": commitMessage(p, "dev: change", "sha256:1"), "edited by a forge": strings.ReplaceAll(commitMessage(p, "dev: change", "sha256:1"), "\n", "\r\n"),
		"with a long body": strings.Replace(commitMessage(p, "dev: change", "sha256:1"), "\n\n", "\n\nFairlead-Base: not here\n\n", 1),
	} {
		if diff := cmp.Diff(want, Trailers(text)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := Trailers("Subject: x\n"); len(got) != 0 {
		t.Errorf("a subject has trailers: %v", got)
	}
}

func TestCommitIsAFunctionOfTheInputs(t *testing.T) {
	commit := func(in []source.Commit) git.Commit {
		w := &attempt{options: Options{Author: git.Signature{Name: "Fairlead", Email: "fairlead@localhost"}}, p: Proposal{Environment: "dev", Inputs: sortedInputs("dev", in)}, whole: &git.View{}}
		if err := w.composeOutput(); err != nil {
			t.Fatal(err)
		}
		return w.newCommit()
	}
	id := func(c git.Commit) string {
		id, err := c.ID()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	c := commit(inputs())
	if !c.When.Equal(noon.Add(2 * time.Hour)) {
		t.Errorf("the time of the commit is %s, not that of the newest input", c.When)
	}
	if none := commit(nil); !none.When.Equal(time.Unix(0, 0)) {
		t.Errorf("the time of a commit of folders is %s", none.When)
	}
	backwards, turned := inputs(), append(inputs()[2:], inputs()[:2]...)
	slices.Reverse(backwards)
	for _, other := range [][]source.Commit{backwards, turned} {
		if id(commit(other)) != id(c) {
			t.Errorf("another order of inputs gives another commit:\n%s", commit(other).Message)
		}
	}
	if changed := inputs(); true {
		changed[3].Commit = strings.Repeat("e", 40)
		if id(commit(changed)) == id(c) {
			t.Error("another input gives the same commit")
		}
	}
}

// huge is more than any body can hold.
func huge(t *testing.T) *attempt {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("type-%d/target/reconciler.yaml", i)] = fmt.Sprintf("kind: Deployment\nmetadata: {name: a%d}\nspec: {%s: %d}\n", i, strings.Repeat("x", i+1), i)
	}
	w := &attempt{p: Proposal{Environment: "dev", Rendered: rendered(t, files)}}
	w.report = impact.Compare(tree.Tree{}, w.p.Rendered, impact.Options{})
	for i := range 1000 {
		w.p.Inputs = append(w.p.Inputs, source.Commit{Layer: fmt.Sprintf("layer-%d", i), Repo: "https://git.example.com/" + strings.Repeat("r", 100), Commit: strings.Repeat("a", 40)})
		w.next.adoption.Folders = append(w.next.adoption.Folders, strings.Repeat("f", 100))
	}
	for i := range 500 {
		w.p.Problems.Warnf(problem.Pos{Layer: "base", File: "a.yaml", Line: i + 1}, "Template/x", "", "%s", strings.Repeat("@", 100))
	}
	return w
}

func TestBodyFits(t *testing.T) {
	long := huge(t)
	for i := range long.p.Inputs {
		long.p.Inputs[i].Repo = strings.Repeat("`|", 5000)
		long.p.Problems[i%500].Summary = strings.Repeat("`<@", 5000)
	}
	for _, in := range long.p.Inputs {
		long.changelog = append(long.changelog, layerCommits{input: in, before: strings.Repeat("b", 40), Commits: Commits{All: slices.Repeat([]git.CommitInfo{{ID: in.Commit, Message: hostile + strings.Repeat("@", 5000)}}, maxCommits)}})
	}
	for name, w := range map[string]*attempt{"many": huge(t), "many and long": long} {
		body := w.pullBody()
		if len(body) > 65_536-4096 {
			t.Errorf("%s: the body has %d bytes", name, len(body))
		}
		if digest, _ := cutMark(body); digest != contentDigest(w.p) || !strings.HasSuffix(body, markEnd+"\n") {
			t.Errorf("%s: the mark is %q", name, digest)
		}
		for _, want := range []string{"300 cluster types (", " more ", "<summary>Reproduce</summary>"} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: the body does not have %q:\n%s", name, want, body)
			}
		}
	}
	if !strings.Contains(huge(t).pullBody(), "| | 960 more | |") {
		t.Error("the body of many short inputs does not show 40 of them")
	}
}

func TestTitleFits(t *testing.T) {
	w := huge(t)
	w.p.Environment = strings.Repeat("é", 400)
	if title := w.changeTitle(); len(title) > 255 || strings.ContainsAny(title, "\n\ufffd") {
		t.Errorf("the title is %q", title)
	}
}

func TestNoticeIsThereOnce(t *testing.T) {
	once := withNotice("The body.\n", "commit 1 is not ours")
	if twice := withNotice(once, "commit 1 is not ours"); twice != once {
		t.Errorf("it is %q, and then %q", once, twice)
	}
	if other := withNotice(once, "commit 2 is not ours"); other != strings.Replace(once, "1", "2", 1) {
		t.Errorf("another notice gives %q", other)
	}
}

// TestRemovalOfStacks: the removal of an output says what of its stacks is not destroyed.
func TestRemovalOfStacks(t *testing.T) {
	r := Removal{Environment: "dev", Why: "It is gone"}
	if got := r.pullBody([]string{"cloud"}, 2); !strings.Contains(got, "**It has stacks, and 2 components of them not destroyed:**") {
		t.Errorf("the body is\n%s", got)
	}
	if got := r.pullBody([]string{"cloud"}, 0); strings.Contains(got, "stacks") {
		t.Errorf("without stacks, the body is\n%s", got)
	}
}
