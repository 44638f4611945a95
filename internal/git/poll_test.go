package git_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestQuietPoll asks a server with many pull requests and tags: one small request, until
// somebody wants to know of them.
func TestQuietPoll(t *testing.T) {
	server := gittest.ServeGit(t)
	url := server.Create("cp")
	work := server.Work(t, "cp")
	work.Switch("main")
	work.Write("a", "1")
	head := work.Commit("base")
	pulls := []string{"main"}
	for n := range 300 {
		pulls = append(pulls, fmt.Sprintf("main:refs/pull/%d/head", n), fmt.Sprintf("main:refs/tags/v0.%d", n))
	}
	work.Push(pulls...)
	r := remoteOf(t, url, func(o *git.RemoteOptions) { o.NarrowPoll = true })
	poll := func(wantMoved bool, want string) {
		t.Helper()
		before := len(server.Requests("cp"))
		moved, err := r.Sync(context.Background())
		if err != nil || moved != wantMoved {
			t.Errorf("moved is %v (%v), want %v", moved, err, wantMoved)
		}
		var got []string
		for _, q := range server.Requests("cp")[before:] {
			small := ""
			if q.BytesIn+q.BytesOut < 1024 {
				small = " small"
			}
			got = append(got, q.Method+small)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("the requests are %q, want %s", got, want)
		}
	}
	poll(false, "POST small")
	work.Push("main:refs/pull/1000/head")
	poll(false, "POST small")
	work.Write("a", "2")
	next := work.Commit("next")
	work.Push("main", "main:refs/tags/v1")
	poll(true, "POST small, GET, GET, POST small") // go-git asks in full twice for a fetch
	if id, err := r.Mirror().Branch("main"); err != nil || id != next {
		t.Errorf("main is %s (%v), want %s", id, err, next)
	}
	poll(false, "POST small")
	if id, err := r.Mirror().Resolve("v1"); err != nil || id != next {
		t.Errorf("v1 is %s (%v), want %s", id, err, next)
	}
	work.Push("+" + head + ":refs/tags/v1")
	poll(true, "POST, GET") // it has the commit already
	if id, err := r.Mirror().Resolve("v1"); err != nil || id != head {
		t.Errorf("v1 is %s (%v), want %s", id, err, head)
	}
	others := r.ProposalDigest()
	work.Push(head + ":refs/pull/1000/merge")
	poll(false, "POST")
	if r.ProposalDigest() == others {
		t.Error("a new pull request is not seen")
	}
	work.Push(":refs/tags/v1")
	poll(true, "POST, GET")
	if _, err := r.Mirror().Resolve("v1"); !errors.Is(err, git.ErrNoRevision) {
		t.Errorf("v1 was removed, and the error is %v", err)
	}
}

// TestThinPush replaces one file in each of some large folders: what goes over the wire is
// small, what is kept is whole, and a server that takes no thin packs gets a whole one.
func TestThinPush(t *testing.T) {
	for _, thin := range []bool{true, false} {
		server := gittest.ServeGit(t)
		r := remoteOf(t, server.Create("out"))
		gittest.Git(t, server.Dir("out"), "config", "receive.fsckObjects", "true")
		files := map[string]string{}
		for i := range 50 * 100 {
			files[fmt.Sprintf("ct%02d/t%02d/f", i/100, i%100)] = fmt.Sprintf("text %d\n", i)
		}
		id, err := push(t, r, "dev", "", commitOf(treeOf(t, files)))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			files[fmt.Sprintf("ct%02d/t33/f", i)] = "another\n"
		}
		view, err := r.Mirror().View(id)
		if err != nil {
			t.Fatal(err)
		}
		next := commitOf(treeOf(t, files), id)
		next.Known = append(next.Known, view.Tree)
		if !thin {
			t.Cleanup(server.Inject("out", gittest.Fault{
				Service: "git-receive-pack", Method: http.MethodGet, Times: 1, Status: http.StatusOK,
				Header: http.Header{"Content-Type": {"application/x-git-receive-pack-advertisement"}},
				Body:   withCapability(t, server.URL("out")+"/info/refs?service=git-receive-pack", "no-thin"),
			}))
		}
		before := len(server.Requests("out"))
		id, err = push(t, r, "dev", id, next)
		if err != nil {
			t.Fatal(err)
		}
		sent := int64(0)
		for _, q := range server.Requests("out")[before:] {
			sent += q.BytesIn
		}
		if thin != (sent < 30_000) {
			t.Errorf("%d bytes were sent, thin is %v", sent, thin)
		}
		read, err := r.Mirror().View(id)
		if err != nil {
			t.Fatal(err)
		}
		if read.Tree.ID() != next.Tree.ID() || read.Tree.Count() != len(files) || read.Err() != nil {
			t.Errorf("the mirror has %d files (%v), want %d", read.Tree.Count(), read.Err(), len(files))
		}
		gittest.Git(t, server.Dir("out"), "fsck", "--full", "--strict")
	}
}

// withCapability asks a server for its references, and has it say one thing more of itself.
func withCapability(t *testing.T, url, capability string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	service, rest, _ := strings.Cut(string(data), "0000")
	line, rest, found := strings.Cut(rest, "\n")
	if !found || !strings.Contains(line, "\x00") {
		t.Fatalf("the server answers %q", data)
	}
	line = line[4:] + " " + capability + "\n"
	return fmt.Sprintf("%s0000%04x%s%s", service, len(line)+4, line, rest)
}
