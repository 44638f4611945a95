package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

func (p *prCommand) viewPull(_ context.Context, number int) (pullAnswer, error) {
	pull, err := p.forge.PullByNumber(number)
	if err != nil {
		return nil, err
	}
	return p.newAnswer(number, newPullReport(pull), p.pullText(pull)), nil
}

func (p *prCommand) diffPull(_ context.Context, number int) (pullAnswer, error) {
	pull, err := p.forge.PullByNumber(number)
	if err != nil {
		return nil, err
	}
	if pull.State != forge.Open {
		return nil, usageErrorf(fmt.Sprintf("fairlead pr view %d shows what it meant", number), "pull request %d is %s: there is nothing that merging it would change", number, pull.State)
	}
	diff, err := p.pullDiff(pull)
	return p.newAnswer(number, map[string]any{"number": number, "diff": diff}, p.app.stdout.PaintDiff(diff)), err
}

func (p *prCommand) showPull(_ context.Context, number int) (pullAnswer, error) {
	pull, err := p.forge.PullByNumber(number)
	if err != nil {
		return nil, err
	}
	text := p.pullText(pull)
	if pull.State == forge.Open && p.app.isText() {
		diff, err := p.pullDiff(pull)
		if err != nil {
			return nil, err
		}
		text += "\n" + p.app.stdout.PaintDiff(diff)
	}
	return p.newAnswer(number, newPullReport(pull), text), nil
}

func (p *prCommand) pullText(pull forge.Pull) string {
	out := p.app.stdout
	text := fmt.Sprintf("%s\n\n%s, from %s into %s\n\n%s\n", out.Paint(display.Bold, display.SanitizeLine(pull.Title)),
		pull.State, display.SanitizeLine(pull.Head), display.SanitizeLine(pull.Base), strings.TrimRight(out.FormatMarkdown(pull.Body), "\n"))
	if pull.Reason != "" {
		text += fmt.Sprintf("\n%s: %s\n", pull.State, display.SanitizeLine(pull.Reason))
	}
	return text
}

const contextLines = 3

func (p *prCommand) pullDiff(pull forge.Pull) (string, error) {
	repo := p.remote.Mirror()
	base, err := repo.Branch(pull.Base)
	if err != nil {
		return "", err
	}
	before, err := repo.MergeBase(base, pull.Commit)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	_, err = git.InspectTrees(repo, []string{cmp.Or(before, base), pull.Commit}, func(t []tree.Tree) (any, error) {
		for piece := range impact.UnifiedDiff(t[0], t[1], contextLines) {
			b.WriteString(display.SanitizeLines(piece))
		}
		return nil, nil
	})
	return b.String(), err
}
