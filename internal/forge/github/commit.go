package github

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"unicode/utf8"

	gh "github.com/google/go-github/v57/github"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/forge"
)

// The limits of one tree request.
const (
	maxEntries = 500
	maxContent = 1 << 20 // bytes
)

// CreateCommit makes a commit that GitHub signs in the name of the App. It sends only differences
// from the parent's tree.
func (g *Forge) CreateCommit(ctx context.Context, c forge.Commit) (string, error) {
	if !g.app {
		return "", &problem.Refusal{
			Operation: "make a commit in " + g.api.Repo, Reason: "GitHub signs only the commits of a GitHub App", Kind: forge.ErrUnsupported,
			Advice: "let Fairlead in as a GitHub App, or set output.verifiedCommits to false",
		}
	}
	if err := g.checkBranch(ctx, c); err != nil {
		return "", err
	}
	if err := g.makeTree(ctx, c); err != nil {
		return "", err
	}
	commit := &gh.Commit{Message: &c.Message, Tree: &gh.Tree{SHA: gh.String(c.Tree.ID().String())}}
	if c.Parent != "" {
		commit.Parents = []*gh.Commit{{SHA: &c.Parent}}
	}
	made, _, err := callAPI(g, "make a commit", func() (*gh.Commit, *gh.Response, error) {
		return g.client.Git.CreateCommit(ctx, g.owner, g.name, commit, nil)
	})
	if err != nil {
		return "", err
	}
	return made.GetSHA(), g.moveBranch(ctx, c, made.GetSHA())
}

// checkBranch returns ErrMoved unless the branch is at c.Old.
func (g *Forge) checkBranch(ctx context.Context, c forge.Commit) error {
	ref, _, err := callAPI(g, "read a branch", func() (*gh.Reference, *gh.Response, error) {
		return g.client.Git.GetRef(ctx, g.owner, g.name, "heads/"+c.Branch)
	})
	if errors.Is(err, forge.ErrNotFound) && c.Old == "" {
		return nil
	}
	if err == nil && ref.GetObject().GetSHA() == c.Old || err != nil && !errors.Is(err, forge.ErrNotFound) {
		return err
	}
	return g.movedError(c, "it is not at "+c.Old)
}

func (g *Forge) movedError(c forge.Commit, said string) error {
	return &problem.Refusal{Operation: "move " + c.Branch + " of " + g.api.Repo, Reason: said, Kind: forge.ErrMoved, Advice: "it will be looked at again"}
}

// moveBranch checks the branch right before moving it, and forces only if needed: GitHub has no
// compare-and-swap.
func (g *Forge) moveBranch(ctx context.Context, c forge.Commit, to string) error {
	ref := &gh.Reference{Ref: gh.String("refs/heads/" + c.Branch), Object: &gh.GitObject{SHA: &to}}
	if c.Old == "" {
		_, _, err := callAPI(g, "make a branch", func() (*gh.Reference, *gh.Response, error) {
			return g.client.Git.CreateRef(ctx, g.owner, g.name, ref)
		})
		if errors.Is(err, forge.ErrExists) {
			err = g.movedError(c, "it is there by now")
		}
		return err
	}
	if err := g.checkBranch(ctx, c); err != nil {
		return err
	}
	_, answer, err := callAPI(g, "move a branch", func() (*gh.Reference, *gh.Response, error) {
		return g.client.Git.UpdateRef(ctx, g.owner, g.name, ref, c.Old != c.Parent)
	})
	if answer != nil && answer.StatusCode == http.StatusUnprocessableEntity && (isRefused(err, "not a fast forward") || isRefused(err, "does not exist")) {
		err = g.movedError(c, "it is not at "+c.Old)
	}
	return err
}

func (g *Forge) makeTree(ctx context.Context, c forge.Commit) error {
	entries, err := g.treeEntries(ctx, c)
	if err != nil {
		return err
	}
	base := ""
	if !c.Before.IsEmpty() {
		base = c.Before.ID().String()
	}
	for _, chunk := range splitEntries(entries) {
		made, _, err := callAPI(g, "make a tree", func() (*gh.Tree, *gh.Response, error) {
			return g.client.Git.CreateTree(ctx, g.owner, g.name, base, chunk)
		})
		if err != nil {
			return err
		}
		base = made.GetSHA()
	}
	if want := c.Tree.ID().String(); base != want {
		return &problem.Refusal{
			Operation: "make a tree of " + g.api.Repo, Reason: fmt.Sprintf("GitHub made %s of it, and it is %s", forge.Quote(base), want),
			Advice: "set output.verifiedCommits to false, and report this",
		}
	}
	return nil
}

// treeEntries returns removals first: a folder may replace a file.
func (g *Forge) treeEntries(ctx context.Context, c forge.Commit) (all []*gh.TreeEntry, err error) {
	var added []*gh.TreeEntry
	for change := range tree.Diff(c.Before, c.Tree) {
		if change.Removed() {
			all = append(all, newTreeEntry(change.Path, change.Old))
			continue
		}
		e := newTreeEntry(change.Path, change.New)
		switch {
		case change.New.Mode == tree.ModeSubmodule:
			e.SHA = gh.String(change.New.ID.String())
		case utf8.Valid(change.New.Data) && !slices.Contains(change.New.Data, 0):
			e.Content = gh.String(string(change.New.Data))
		default:
			e.SHA = gh.String(change.New.ID.String())
			_, _, err = callAPI(g, "make a blob", func() (*gh.Blob, *gh.Response, error) {
				return g.client.Git.CreateBlob(ctx, g.owner, g.name, &gh.Blob{
					Content: gh.String(base64.StdEncoding.EncodeToString(change.New.Data)), Encoding: gh.String("base64"),
				})
			})
		}
		if err != nil {
			return nil, err
		}
		added = append(added, e)
	}
	return append(all, added...), nil
}

func newTreeEntry(path string, e tree.Entry) *gh.TreeEntry {
	kind := "blob"
	if e.Mode == tree.ModeSubmodule {
		kind = "commit"
	}
	return &gh.TreeEntry{Path: &path, Mode: gh.String(fmt.Sprintf("%06o", uint32(e.Mode))), Type: &kind}
}

func splitEntries(entries []*gh.TreeEntry) (all [][]*gh.TreeEntry) {
	var chunk []*gh.TreeEntry
	size := 0
	for _, e := range entries {
		length := len(e.GetContent()) + len(e.GetPath())
		if len(chunk) > 0 && (len(chunk) == maxEntries || size+length > maxContent) {
			all, chunk, size = append(all, chunk), nil, 0
		}
		chunk, size = append(chunk, e), size+length
	}
	if len(chunk) > 0 {
		all = append(all, chunk)
	}
	return all
}
