package forge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

type statusText struct {
	Context     string    `yaml:"context"`
	Outcome     Outcome   `yaml:"state"`
	Description string    `yaml:"description"`
	URL         string    `yaml:"url,omitempty"`
	When        time.Time `yaml:"when,omitempty"` // missing in older documents, and in people's
	By          string    `yaml:"by,omitempty"`
}

// SetStatus records a status and its time. An unchanged status keeps its time.
func (p *Plain) SetStatus(ctx context.Context, commit string, s Status) error {
	sum := sha256.Sum256([]byte(s.Context))
	file := hex.EncodeToString(sum[:8]) + ".yaml"
	return p.store.retryStale(ctx, func() error {
		r, err := p.readStatuses(commit)
		if err != nil {
			return err
		}
		var t statusText
		if err := r.decode(file, &t); err == nil && r.files[file] != nil && (Status{t.Context, t.Outcome, t.Description, t.URL}) == s {
			return nil
		}
		r.files[file], err = yamldoc.Encode(statusText{s.Context, s.Outcome, s.Description, s.URL, p.store.now().UTC(), p.store.author.Name})
		if err != nil {
			return err
		}
		old, err := p.oldStatuses(r.ref)
		if err != nil {
			return err
		}
		return p.writeAndRemove(ctx, r, fmt.Sprintf("%s: %s", s.Context, s.Outcome), old)
	})
}

func (p *Plain) readStatuses(commit string) (record, error) {
	ref := statusPrefix + commit
	refs, err := p.store.listRefs(ref)
	if err != nil || refs[ref] == "" {
		return record{ref: ref, files: map[string][]byte{}}, err
	}
	return p.store.readRecord(ref, refs[ref])
}

// Statuses returns the statuses of a commit, sorted by context. Without By, the author of the
// document's last commit set it.
func (p *Plain) Statuses(_ context.Context, commit string) ([]CommitStatus, error) {
	r, err := p.readStatuses(commit)
	if err != nil || len(r.files) == 0 {
		return nil, err
	}
	wrote, err := p.store.remote.Mirror().Commit(r.commit)
	if err != nil {
		return nil, err
	}
	var all []CommitStatus
	for file := range r.files {
		var t statusText
		if err := r.decode(file, &t); err != nil {
			return nil, err
		}
		if t.When.IsZero() {
			t.When = wrote.When
		}
		all = append(all, CommitStatus{
			Context: t.Context, Outcome: t.Outcome, Description: t.Description, URL: t.URL, Time: t.When, Author: cmp.Or(t.By, wrote.Author.Name),
		})
	}
	slices.SortFunc(all, func(a, b CommitStatus) int { return cmp.Compare(a.Context, b.Context) })
	return all, nil
}
