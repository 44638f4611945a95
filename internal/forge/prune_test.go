package forge_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// crowd is a repository with many documents.
type crowd struct {
	*testing.T
	*forge.Plain
	server *gittest.Server
	remote *git.Remote
	head   string // of the branches main and fairlead/dev
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{T: t, server: gittest.Serve(t)}
	c.server.Create("many")
	var err error
	if c.remote, err = git.NewRemote(git.RemoteOptions{URL: c.server.Dir("many"), Dir: filepath.Join(t.TempDir(), "mirror")}); err != nil {
		t.Fatal(err)
	}
	c.sync()
	c.Plain = forge.NewPlain(c.remote, git.Signature{Name: "a"}, func() time.Time { return time.Unix(1e9, 0) })
	c.documents(map[string]map[string]string{"refs/heads/main": {}, "refs/heads/fairlead/dev": {}})
	c.head = c.refs()["refs/heads/main"]
	return c
}

func (c *crowd) sync() {
	c.Helper()
	if _, err := c.remote.Sync(c.Context()); err != nil {
		c.Fatal(err)
	}
}

func (c *crowd) refs() map[string]string { return gittest.Refs(c, c.server.Dir("many")) }

// documents pushes many documents at once. They were written in the order of their
// numbers.
func (c *crowd) documents(all map[string]map[string]string) {
	c.Helper()
	var commits []git.Commit
	var updates []git.RefUpdate
	for ref, files := range all {
		contents := map[string][]byte{}
		for name, text := range files {
			contents[name] = []byte(text)
		}
		t, err := tree.FromFiles(contents)
		if err != nil {
			c.Fatal(err)
		}
		var n int64
		if _, err := fmt.Sscanf(ref[strings.LastIndex(ref, "/")+1:], "%d", &n); err != nil {
			n = 0
		}
		commit := git.Commit{Tree: t, When: time.Unix(n, 0), Message: "x\n"}
		id, err := commit.ID()
		if err != nil {
			c.Fatal(err)
		}
		commits, updates = append(commits, commit), append(updates, git.RefUpdate{Ref: ref, New: id})
	}
	pack, err := c.remote.Write(c.Context(), commits...)
	if err != nil {
		c.Fatal(err)
	}
	if err := c.remote.Push(c.Context(), pack, updates...); err != nil {
		c.Fatal(err)
	}
}

// wantRefs checks that of these references just these are left.
func (c *crowd) wantRefs(prefix string, want func(n int) bool, most int) {
	c.Helper()
	got, all := map[string]bool{}, map[string]bool{}
	for ref := range c.refs() {
		if strings.HasPrefix(ref, prefix) {
			got[ref] = true
		}
	}
	for n := range most + 1 {
		if n > 0 && want(n) {
			all[fmt.Sprintf("%s%d", prefix, n)] = true
		}
	}
	if diff := cmp.Diff(all, got); diff != "" {
		c.Errorf("the references (-want +got):\n%s", diff)
	}
}

func TestOldPullsGo(t *testing.T) {
	c := newCrowd(t)
	pull := func(head, state string) map[string]string {
		return map[string]string{"pull.yaml": "title: x\nenvironment: x\nhead: " + head + "\nbase: main\nstate: " + state + "\n"}
	}
	all := map[string]map[string]string{}
	for n := 1; n <= 120; n++ {
		all[fmt.Sprintf("refs/fairlead/pulls/%d", n)] = pull("fairlead/x", "merged")
	}
	all["refs/heads/fairlead/x"] = map[string]string{"a": "1"}
	all["refs/fairlead/pulls/3"] = pull("fairlead/prod", "closed") // the last of its branch
	all["refs/fairlead/pulls/5"] = pull("main", "open")
	c.documents(all)

	opened, err := c.OpenPull(t.Context(), forge.Proposal{Mark: "dev", Head: "fairlead/x", Base: "main", Title: "new"})
	if err != nil {
		t.Fatal(err)
	}
	if opened.Number != 121 {
		t.Errorf("the new one is %d", opened.Number)
	}
	// 120 is the last of its branch until 121 is there; 100 more are kept.
	c.wantRefs("refs/fairlead/pulls/", func(n int) bool { return n >= 20 || n == 3 || n == 5 }, 121)
}

func TestOldIssuesGo(t *testing.T) {
	c := newCrowd(t)
	all := map[string]map[string]string{}
	for n := 1; n <= 110; n++ {
		all[fmt.Sprintf("refs/fairlead/issues/%d", n)] = map[string]string{"issue.yaml": "title: x\nmark: dev\nstate: closed\n"}
	}
	all["refs/fairlead/issues/2"] = map[string]string{"issue.yaml": "title: x\nmark: prod\nstate: open\n"}
	c.documents(all)
	if i, err := c.PutIssue(t.Context(), forge.Issue{Mark: "dev", Title: "new", Open: true}); err != nil || i.Number != 111 {
		t.Errorf("the new one is %d: %v", i.Number, err)
	}
	c.wantRefs("refs/fairlead/issues/", func(n int) bool { return n >= 10 || n == 2 }, 111)
}

func TestOldStatusesGo(t *testing.T) {
	c := newCrowd(t)
	all := map[string]map[string]string{}
	for n := 1; n <= 60; n++ {
		all[fmt.Sprintf("refs/fairlead/statuses/%040d", n)] = map[string]string{"x.yaml": "context: x\nstate: success\n"}
	}
	all["refs/fairlead/statuses/"+c.head] = map[string]string{"x.yaml": "context: x\nstate: success\n"}
	c.documents(all)
	set := forge.Status{Context: "fairlead/dev", Outcome: forge.Success}
	if err := c.SetStatus(t.Context(), fmt.Sprintf("%040d", 1), set); err != nil {
		t.Fatal(err)
	}
	left := c.refs()
	for n := 1; n <= 60; n++ {
		_, ok := left[fmt.Sprintf("refs/fairlead/statuses/%040d", n)]
		if want := n == 1 || n > 10; ok != want {
			t.Errorf("the status of commit %d is there: %t", n, ok)
		}
	}
	if left["refs/fairlead/statuses/"+c.head] == "" {
		t.Error("the status of the head of a branch is gone")
	}
}

// TestOldDocumentsMayStay: a server that lets nobody remove references gets new ones
// all the same.
func TestOldDocumentsMayStay(t *testing.T) {
	c := newCrowd(t)
	hook := "#!/bin/sh\ncase $3 in *[1-9a-f]*) exit 0 ;; esac\nexit 1\n" // $3 is the new commit
	if err := os.MkdirAll(filepath.Join(c.server.Dir("many"), "hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.server.Dir("many"), "hooks", "update"), []byte(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]string{}
	for n := 1; n <= 60; n++ {
		all[fmt.Sprintf("refs/fairlead/statuses/%040d", n)] = map[string]string{"x.yaml": "context: x\nstate: success\n"}
	}
	c.documents(all)
	before := c.refs()
	if err := c.SetStatus(t.Context(), c.head, forge.Status{Context: "fairlead/dev", Outcome: forge.Success}); err != nil {
		t.Fatal(err)
	}
	after := c.refs()
	if after["refs/fairlead/statuses/"+c.head] == "" {
		t.Error("the status was not set")
	}
	delete(after, "refs/fairlead/statuses/"+c.head)
	if !maps.Equal(before, after) {
		t.Error("something else was changed")
	}
}

// TestEndedPullsStayEnded: how a pull request ended is not changed by those who come
// late, nor by what becomes of its branch.
func TestEndedPullsStayEnded(t *testing.T) {
	c := newCrowd(t)
	t1, err := tree.FromFiles(map[string][]byte{"a": []byte("1")})
	if err != nil {
		t.Fatal(err)
	}
	push := func(ref, old string, parents ...string) string {
		t.Helper()
		pack, err := c.remote.Write(t.Context(), git.Commit{Tree: t1, Parents: parents, When: time.Unix(int64(len(old)), 0), Message: ref + "\n"})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.remote.Push(t.Context(), pack, git.RefUpdate{Ref: ref, Old: old, New: pack.Commits[0]}); err != nil {
			t.Fatal(err)
		}
		return pack.Commits[0]
	}
	proposed := push("refs/heads/fairlead/dev", c.head, c.head)
	proposal := forge.Proposal{Mark: "dev", Head: "fairlead/dev", Base: "main", Title: "new"}
	merged, err := c.OpenPull(t.Context(), proposal)
	if err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, c.server.Dir("many"), "update-ref", "refs/heads/main", proposed)
	gittest.Git(t, c.server.Dir("many"), "update-ref", "-d", "refs/heads/fairlead/dev")
	c.sync()
	c.wantState(merged.Number, forge.Merged, proposed)

	next := push("refs/heads/fairlead/dev", "", proposed)
	c.wantState(merged.Number, forge.Merged, proposed)
	closed, err := c.OpenPull(t.Context(), proposal)
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range []string{"first", "second"} {
		if err := c.ClosePull(t.Context(), closed.Number, reason); err != nil {
			t.Fatal(err)
		}
		if _, err := c.EditPull(t.Context(), closed.Number, proposal); !errors.Is(err, forge.ErrChanged) {
			t.Errorf("what is closed was edited: %v", err)
		}
	}
	c.wantState(closed.Number, forge.Closed, next)
	if p, err := c.PullByNumber(closed.Number); err != nil || p.Reason != "first" {
		t.Errorf("it was closed because of %q: %v", p.Reason, err)
	}
}

func (c *crowd) wantState(number int, state forge.State, commit string) {
	c.Helper()
	p, err := c.PullByNumber(number)
	if err != nil || p.State != state || p.Commit != commit {
		c.Errorf("pull request %d is %s at %s: %v", number, p.State, p.Commit, err)
	}
}
