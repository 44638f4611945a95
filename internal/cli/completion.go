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

// completedInOrder is for names that are offered in the order in which they are listed.
const completedInOrder = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder

// offeredCommits is how many commits a shell is offered.
const offeredCommits = 25

// completeArguments returns a completion that has one for each argument, in their order.
func completeArguments(each ...cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(each) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return each[len(args)](c, args, begun)
	}
}

// completeNames completes the names of environments.
func (cc *commandContext) completeNames(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	d, err := cc.openSession(c.Context(), git.Signature{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := d.Environments(c.Context())
	return names, completedInOrder
}

// completeClusters completes the names of the clusters that the ledger knows.
func (cc *commandContext) completeClusters(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	cc.ledgerNoted = true // a shell would show the note
	names, _ := cc.listClusters(c.Context())
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeCommits completes commits of the base's branch, newest first, with their subjects.
func (cc *commandContext) completeCommits(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	d, err := cc.openSession(c.Context(), git.Signature{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	commits, _ := d.ListCommits(c.Context(), offeredCommits)
	return describeCommits(commits, begun), completedInOrder
}

// completePrevious completes the commits that the environment of the command had, with what is known of them there.
func (cc *commandContext) completePrevious(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return cc.completeCommits(c, args, begun)
	}
	d, err := cc.openSession(c.Context(), git.Signature{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	had, _ := d.ListPrevious(c.Context(), args[0], offeredCommits)
	if len(had) == 0 { // after a rewrite it may go back to any
		return cc.completeCommits(c, args, begun)
	}
	return describeCommits(list.Convert(had, func(p actions.PreviousCommit) git.CommitInfo {
		if p.Evidence != promoter.Unproven {
			p.Message = fmt.Sprintf("(%s) %s", p.Evidence, p.Message)
		}
		return p.CommitInfo
	}), begun), completedInOrder
}

// describeCommits returns commits as they are offered: as short as what was begun allows.
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

// completeEither completes the names of environments, and commits of the base, but not what is there
// already.
func (cc *commandContext) completeEither(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	names, directive := cc.completeNames(c, args, begun)
	commits, _ := cc.completeCommits(c, args, begun)
	return append(slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), commits...), directive
}

// completeFreezes completes the names of freezes.
func (cc *commandContext) completeFreezes(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	d, err := cc.openSession(c.Context(), git.Signature{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := d.ListFreezes(c.Context())
	return names, completedInOrder
}

// completeEphemerals completes the names of ephemeral environments.
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

// completeOutputs completes commits of the GitOps repository, newest first, with their subjects.
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
