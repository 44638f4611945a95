package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// completedInOrder keeps the order of names.
const completedInOrder = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder

const offeredCommits = 25

func completeArguments(each ...cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(each) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return each[len(args)](c, args, begun)
	}
}

func (cc *commandContext) completeNames(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	d, err := cc.openSession(c.Context(), git.Signature{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := d.Environments(c.Context())
	return names, completedInOrder
}

func (cc *commandContext) completeClusters(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	cc.ledgerNoted = true // a shell would show the note
	names, _ := cc.listClusters(c.Context())
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (cc *commandContext) completeCommits(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	d, err := cc.openSession(c.Context(), git.Signature{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	commits, _ := d.ListCommits(c.Context(), offeredCommits)
	return describeCommits(commits, begun), completedInOrder
}

func (cc *commandContext) completePrevious(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return cc.completeCommits(c, args, begun)
	}
	d, err := cc.openSession(c.Context(), git.Signature{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	had, _ := d.ListPrevious(c.Context(), args[0], offeredCommits)
	if len(had) == 0 { // after a rewrite any commit is possible
		return cc.completeCommits(c, args, begun)
	}
	return describeCommits(list.Convert(had, func(p actions.PreviousCommit) git.CommitInfo {
		if p.Evidence != promoter.Unproven {
			p.Message = fmt.Sprintf("(%s) %s", p.Evidence, p.Message)
		}
		return p.CommitInfo
	}), begun), completedInOrder
}

func describeCommits(commits []git.CommitInfo, begun string) []string {
	var found []string
	for _, commit := range commits {
		id := text.ShortCommit(commit.ID)
		if len(begun) > len(id) {
			id = commit.ID
		}
		if strings.HasPrefix(id, begun) {
			found = append(found, cobra.CompletionWithDesc(id, display.SanitizeLine(commit.Subject())))
		}
	}
	return found
}

// completeEither completes environments and commits, without those already given.
func (cc *commandContext) completeEither(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	names, directive := cc.completeNames(c, args, begun)
	commits, _ := cc.completeCommits(c, args, begun)
	return append(slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), commits...), directive
}

func (cc *commandContext) completeFreezes(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	d, err := cc.openSession(c.Context(), git.Signature{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := d.ListFreezes(c.Context())
	return names, completedInOrder
}

func (cc *commandContext) completeEphemerals(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	d, err := cc.openEphemerals(c.Context(), git.Signature{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	items, _, _ := d.List(c.Context())
	var names []string
	for _, item := range items {
		names = append(names, item.Name)
	}
	return names, completedInOrder
}

func (v *verifyCommand) completeOutputs(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	repo, err := git.FindRepository(cmp.Or(v.repo, "."))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	head, err := repo.Resolve("HEAD")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	commits, _ := repo.ListCommits(head, offeredCommits)
	return describeCommits(commits, begun), completedInOrder
}
