package git

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// Commit is a commit to write. Its id is a function of all fields except Known.
type Commit struct {
	Tree    tree.Tree
	Parents []string
	Author  Signature
	// Committer defaults to Author.
	Committer Signature
	When      time.Time // written in UTC, to the second
	Message   string
	Sign      Signer // nil for unsigned
	// Known are trees that the remote has; their objects are not written.
	Known []tree.Tree
}

// Signer signs a commit's text. Equal text and time must give equal signatures, so that commit ids
// are reproducible.
type Signer func(text []byte, when time.Time) (string, error)

// ID returns the commit's id.
func (c Commit) ID() (string, error) {
	data, err := c.encodeText()
	if err != nil {
		return "", err
	}
	return plumbing.ComputeHash(plumbing.CommitObject, data).String(), nil
}

func (c Commit) encodeText() ([]byte, error) {
	var head bytes.Buffer
	fmt.Fprintf(&head, "tree %s\n", c.Tree.ID())
	for _, p := range c.Parents {
		fmt.Fprintf(&head, "parent %s\n", p)
	}
	committer := c.Committer
	if committer == (Signature{}) {
		committer = c.Author
	}
	for _, who := range []struct {
		role string
		Signature
	}{{"author", c.Author}, {"committer", committer}} {
		fmt.Fprintf(&head, "%s %s <%s> %d +0000\n", who.role, oneLine(who.Name), oneLine(who.Email), c.When.Unix())
	}
	body := "\n" + c.Message
	if c.Sign != nil {
		signature, err := c.Sign([]byte(head.String()+body), c.When)
		if err != nil {
			return nil, fmt.Errorf("sign the commit: %w", err)
		}
		// Continuation lines of a header begin with a space.
		fmt.Fprintf(&head, "gpgsig %s\n", strings.ReplaceAll(strings.TrimRight(signature, "\n"), "\n", "\n "))
	}
	return append(head.Bytes(), body...), nil
}

func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == '<' || r == '>' {
			return -1
		}
		return r
	}, s))
}

// Pack holds new commits outside of the mirror until [Remote.Push] adds it. A pack that is not
// pushed must be discarded.
type Pack struct {
	*pack.Pack
	Commits []string

	rehearsed []Commit
}

func writePack(ctx context.Context, dir string, commits []Commit) (*Pack, error) {
	var ids []string
	written, err := pack.Write(dir, func(w *pack.Writer) error {
		for _, c := range commits {
			if err := w.WriteTree(ctx, c.Tree, c.Known); err != nil {
				return err
			}
			data, err := c.encodeText()
			if err != nil {
				return err
			}
			id := plumbing.ComputeHash(plumbing.CommitObject, data)
			if err := w.WriteObject(pack.Commit, tree.ID(id), data); err != nil {
				return err
			}
			ids = append(ids, id.String())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &Pack{Pack: written, Commits: ids}, nil
}
