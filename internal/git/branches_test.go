package git_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/program"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestAsk: a remote is asked for its branches, and whether it lets us push, and nothing
// is fetched or moved.
func TestAsk(t *testing.T) {
	server := gittest.ServeGit(t)
	dir := filepath.Join(t.TempDir(), "mirror")
	r, err := git.NewRemote(git.RemoteOptions{URL: server.Create("cp"), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if refs, err := r.ListReferences(context.Background()); refs.Head != "" || len(refs.Branches) > 0 || err != nil {
		t.Errorf("an empty repository has the references %v (%v)", refs, err)
	}
	work := server.Work(t, "cp")
	work.Switch("main")
	work.Write("a", "1")
	head := work.Commit("base")
	work.Push("main", "main:team/dev", "main:refs/tags/v1", "main:refs/pull/1/head")
	gittest.Git(t, server.Dir("cp"), "tag", "--annotate", "--message", "The second", "v2", head)
	refs, err := r.ListReferences(context.Background())
	want := git.References{Head: head, Branches: map[string]string{"main": head, "team/dev": head}, Tags: map[string]string{"v1": head, "v2": head}}
	if diff := cmp.Diff(want, refs); diff != "" || err != nil {
		t.Errorf("the references (-want +got): %v\n%s", err, diff)
	}
	if err := r.CheckPush(context.Background()); err != nil {
		t.Errorf("we may push: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a mirror, though it was only asked: %v", err)
	}
	gittest.Git(t, server.Dir("cp"), "config", "http.receivepack", "false")
	if err := r.CheckPush(context.Background()); !errors.Is(err, git.ErrAccess) {
		t.Errorf("we may not push: %v, want ErrAccess", err)
	}
	if again, err := r.ListReferences(context.Background()); err != nil || !cmp.Equal(again, refs) {
		t.Errorf("the references have become %v (%v)", again, err)
	}
}

func TestProgram(t *testing.T) {
	if version, err := program.Version(context.Background()); err != nil || !regexp.MustCompile(`^\d+\.\d+$`).MatchString(version) {
		t.Errorf("Git here is of version %q (%v)", version, err)
	}
	for said, want := range map[string]string{
		"git version 2.29.9": "git is version 2.29; 2.30 or newer is needed",
		"hello":              "git --version does not tell its version",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\necho "+said+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		if _, err := program.Version(context.Background()); err == nil || err.Error() != want {
			t.Errorf("of a Git that says %q: %v", said, err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := program.Version(context.Background()); err == nil {
		t.Error("there is no Git, and it has a version")
	}
}
