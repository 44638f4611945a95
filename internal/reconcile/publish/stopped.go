package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
)

// MarkStopped adds a notice to the open pull request of a stopped environment, cancels auto-merge,
// and returns the pull request; nil for none. It proposes what the files asked for before, so a
// merge may remove what they ask for now.
func MarkStopped(ctx context.Context, o Options, environment, branch string, problems problem.List) (open *forge.Pull, err error) {
	ours := o.Prefix + environment
	head, err := o.Remote.Mirror().FindBranch(ours)
	if err != nil || head == "" {
		return nil, err
	}
	all := o.Listed
	if all == nil {
		all, err = o.Forge.OpenPulls(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("read the open pull requests: %w", err)
	}
	notice := stoppedNotice(problems)
	for _, p := range all {
		if p.Head != ours || p.Base != branch {
			continue
		}
		open = cmp.Or(open, &p) // the newest
		marked := p.Proposal
		marked.Body = withNotice(p.Body, notice)
		if marked.Body == p.Body {
			continue
		}
		if !IsStopped(p.Body) {
			if err := o.cancelAutoMerge(ctx, p.Number); err != nil {
				return open, fmt.Errorf("cancel auto-merge of pull request %d: %w", p.Number, err)
			}
		}
		_, err := o.putPull(ctx, &p, marked)
		if err != nil && !errors.Is(err, forge.ErrChanged) { // merged or closed meanwhile
			return open, fmt.Errorf("mark pull request %d: %w", p.Number, err)
		}
	}
	return open, nil
}

const stoppedReason = "problems stop its environment"

func stoppedNotice(problems problem.List) string {
	n, _ := problems.Count()
	first, _ := problems.FirstStopping()
	which := "The problem"
	if n > 1 {
		which = fmt.Sprintf("The first of %d problems", n)
	}
	return fmt.Sprintf("%s. It proposes what the files said before: merging it may remove or destroy what they ask for now. %s: %s", stoppedReason, which, codeText(first.String()))
}

// IsStopped reports whether a body has the notice.
func IsStopped(body string) bool { return strings.HasPrefix(body, noticeBegin+stoppedReason) }
