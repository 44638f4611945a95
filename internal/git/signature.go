package git

import (
	"bytes"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/pack"
)

const maxSignedCommit = 1 << 20

// ReadSignature returns a commit's signature and the signed text. Several signatures count as none.
func (r *Repository) ReadSignature(id string) (text []byte, signature string, err error) {
	r.mu.Lock()
	data, err := r.store.ReadLimited(pack.Commit, tree.ID(plumbing.NewHash(id)), maxSignedCommit)
	r.mu.Unlock()
	if err != nil {
		return nil, "", fmt.Errorf("read commit %s of %s: %w", id, r.location, err)
	}
	text, signature = splitSignature(data)
	return text, signature, nil
}

// Continuation lines of the header gpgsig begin with a space.
func splitSignature(commit []byte) (text []byte, signature string) {
	const header = "gpgsig "
	var value []byte
	found, within := 0, false
	rest := commit
	for len(rest) > 0 && rest[0] != '\n' {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		line := rest[:end]
		rest = rest[end:]
		switch {
		case bytes.HasPrefix(line, []byte(header)):
			found, within = found+1, true
			value = append(value, line[len(header):]...)
		case within && line[0] == ' ':
			value = append(value, line[1:]...)
		default:
			within = false
			text = append(text, line...)
		}
	}
	if found != 1 {
		return commit, ""
	}
	return append(text, rest...), string(value)
}
