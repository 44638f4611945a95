package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/git"
)

// Each poll lists all references, so old documents are removed when a new one is written. The
// newest stays, so that no number is reused.
const (
	keptStatuses = 50  // commits, except branch heads
	keptPulls    = 100 // ended, except the last per branch
	keptIssues   = 100 // closed, except the last per mark
)

func (p *Plain) writeAndRemove(ctx context.Context, r record, message string, old []git.RefUpdate, others ...git.RefUpdate) error {
	err := p.store.writeRecord(ctx, r, message, append(old, others...)...)
	if len(old) > 0 && errors.Is(err, git.ErrRefused) {
		return p.store.writeRecord(ctx, r, message, others...)
	}
	return err
}

// oldPulls selects pull requests that ended long ago. It keeps the last one of a branch, whose
// closing may mean that its content was declined.
func (p *Plain) oldPulls() ([]git.RefUpdate, error) {
	all, err := p.AllPulls()
	if err != nil {
		return nil, err
	}
	var old []int
	last := map[[2]string]bool{}
	for _, pull := range all {
		branches := [2]string{pull.Head, pull.Base}
		if pull.State != Open && last[branches] {
			old = append(old, pull.Number)
		}
		last[branches] = true
	}
	return p.removalsBeyond(pullPrefix, old, keptPulls)
}

func (p *Plain) oldIssues() ([]git.RefUpdate, error) {
	all, err := p.allIssues()
	if err != nil {
		return nil, err
	}
	var old []int
	last := map[string]bool{}
	for _, i := range all {
		if !i.Open && last[i.Mark] {
			old = append(old, i.Number)
		}
		last[i.Mark] = true
	}
	return p.removalsBeyond(issuePrefix, old, keptIssues)
}

func (p *Plain) removalsBeyond(prefix string, numbers []int, kept int) ([]git.RefUpdate, error) {
	if len(numbers) <= kept {
		return nil, nil
	}
	refs, err := p.store.listRefs(prefix)
	if err != nil {
		return nil, err
	}
	return list.Convert(numbers[kept:], func(n int) git.RefUpdate {
		ref := fmt.Sprintf("%s%d", prefix, n)
		return git.RefUpdate{Ref: ref, Old: refs[ref]}
	}), nil
}

// oldStatuses selects old statuses of commits that are not branch heads, except the one being
// written.
func (p *Plain) oldStatuses(writing string) ([]git.RefUpdate, error) {
	refs, err := p.store.listRefs(statusPrefix)
	if err != nil || len(refs) <= keptStatuses {
		return nil, err
	}
	heads, err := p.store.listRefs("refs/heads/")
	if err != nil {
		return nil, err
	}
	delete(refs, writing)
	for _, commit := range heads {
		delete(refs, statusPrefix+commit)
	}
	type status struct {
		ref string
		set time.Time
	}
	var all []status
	for ref, commit := range refs {
		info, err := p.store.remote.Mirror().Commit(commit)
		if err != nil {
			return nil, err
		}
		all = append(all, status{ref, info.When})
	}
	slices.SortFunc(all, func(a, b status) int {
		return cmp.Or(b.set.Compare(a.set), strings.Compare(a.ref, b.ref))
	})
	return list.Convert(all[min(keptStatuses, len(all)):], func(s status) git.RefUpdate { return git.RefUpdate{Ref: s.ref, Old: refs[s.ref]} }), nil
}
