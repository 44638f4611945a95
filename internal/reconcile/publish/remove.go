package publish

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// Removal is an output to remove, because its environment was deleted or has moved.
type Removal struct {
	Environment    string
	Branch, Folder string // of the GitOps repository
	Why            string // one sentence, without a full stop
	// Moved is set if the environment's output and clusters are elsewhere now.
	Moved bool
	// IsOurs reports whether a record is this control plane's: others may use the repository.
	IsOurs func(Written) (bool, error)
}

// Removed is the progress of a removal.
type Removed struct {
	// Done is set if nothing is left to remove.
	Done bool
	// Pull is the removing pull request, open or closed. Only people merge it.
	Pull *forge.Pull
	// Provisioned has clusters that would be unmanaged. While there are any, the removal is not
	// proposed.
	Provisioned []string
}

const maxNamed = 20

// ProposeRemoval proposes to remove an output, by a pull request that Fairlead never merges. It
// keeps what the record does not name. If nothing is left, it withdraws the proposal.
func ProposeRemoval(ctx context.Context, o Options, r Removal) (Removed, error) {
	repo, ours := o.Remote.Mirror(), r.branchName(o.Prefix)
	head, err := repo.FindBranch(r.Branch)
	if err != nil || head == "" {
		return Removed{Done: true}, err
	}
	view, err := repo.View(head)
	if err != nil {
		return Removed{}, err
	}
	found, err := FindWritten(view, r.Folder, r.Environment, r.IsOurs)
	if err != nil {
		return Removed{}, err
	}
	if found == nil {
		return Removed{Done: true}, Withdraw(ctx, o, ours, r.Branch, r.trailerLine(), "There is nothing left to remove.")
	}
	provisioned := clusterfiles.ListProvisioned(view.Tree.Sub(CleanFolder(r.Folder)))
	if err := view.Err(); err != nil {
		return Removed{}, err
	}
	if len(provisioned) > 0 && !r.Moved {
		return Removed{Provisioned: provisioned}, Withdraw(ctx, o, ours, r.Branch, r.trailerLine(), "The output has clusters that were not decommissioned.")
	}
	info, err := repo.Commit(head)
	if err != nil {
		return Removed{}, err
	}
	rest, removed := withoutOutput(view.Tree, r.Folder, *found, "")
	orphans := impact.CountComponents(view.Tree.Sub(CleanFolder(r.Folder)))
	title := forge.FitTitle(fmt.Sprintf("%s: REMOVE its output (%s)", r.Environment, text.Count(len(removed), "cluster type")))
	edit := Edit{
		Branch: r.Branch, Head: head, Folders: map[string]tree.Tree{"": rest}, When: info.When,
		Message: fmt.Sprintf("%s\n\n%s\n", title, r.trailerLine()),
	}
	if err := view.Err(); err != nil {
		return Removed{}, err
	}
	pull, err := edit.Propose(ctx, o, forge.Proposal{
		Mark: "removal of " + r.Environment, Head: ours, Base: r.Branch, Title: title, Body: r.pullBody(removed, orphans), Labels: []string{removalsLabel},
	})
	if err != nil {
		return Removed{}, err
	}
	return Removed{Pull: &pull}, nil
}

// IsProposed reports whether our branch with the removal exists.
func (r Removal) IsProposed(repo *git.Repository, prefix string) bool {
	_, err := repo.Branch(r.branchName(prefix))
	return err == nil
}

// WithdrawRemoval closes the pull request, because the output belongs there.
func WithdrawRemoval(ctx context.Context, o Options, r Removal) error {
	return Withdraw(ctx, o, r.branchName(o.Prefix), r.Branch, r.trailerLine(), fmt.Sprintf("The output of %s belongs here.", r.Environment))
}

// branchName is unique per place: an environment may have left several.
func (r Removal) branchName(prefix string) string {
	_, sum, _ := strings.Cut(digestOf(r.Branch, CleanFolder(r.Folder)), ":")
	return fmt.Sprintf("%schange/removal/%s-%s", prefix, r.Environment, sum[:8])
}

func (r Removal) trailerLine() string { return "Fairlead-Removal: " + text.OneLine(r.Environment) }

// pullBody puts the removal first. orphans counts components of stacks that were not destroyed.
func (r Removal) pullBody(removed []string, orphans int) string {
	place := "the root of the branch"
	if folder := CleanFolder(r.Folder); folder != "" {
		place = "the folder " + codeText(folder)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "**This removes the whole output of %s** from %s: %s.\n\n", codeText(r.Environment), place, listNames(removed, maxNamed))
	if orphans > 0 {
		fmt.Fprintf(&b, "**It has stacks, and %s of them not destroyed:** what Terraform has made for them stays, and nothing manages it any more, unless the same stacks are rendered elsewhere.\n\n",
			text.Count(orphans, "component"))
	}
	fmt.Fprintf(&b, "%s. Clusters that reconcile these files remove what they run of them. Fairlead does not merge this pull request; a person does. "+
		"Close it to keep the files: Fairlead then leaves them alone.\n\n", forge.EscapeMarkdown(r.Why))
	b.WriteString("Files that Fairlead has not written stay.\n")
	return b.String()
}

// FindWritten returns an environment's record in a folder; nil if missing or another control
// plane's.
func FindWritten(view *git.View, folder, environment string, isOurs func(Written) (bool, error)) (*Written, error) {
	r, err := (*Records)(nil).ReadIn(view.Tree.Sub(CleanFolder(folder)))
	if err := view.Err(); err != nil {
		return nil, err
	}
	if err != nil || len(r.Environments) != 1 || r.Environments[0].Environment != environment {
		return nil, nil
	}
	if ours, err := isOurs(r.Environments[0]); err != nil || !ours {
		return nil, err
	}
	return &r.Environments[0], nil
}

// withoutOutput removes written output from a branch's tree, and returns the removed cluster types.
// Folders with another environment's output or keep stay.
func withoutOutput(whole tree.Tree, folder string, written Written, keep string) (tree.Tree, []string) {
	folder = CleanFolder(folder)
	ours := map[string]bool{}
	for _, name := range written.Folders {
		ours[name] = !isDot(name)
	}
	var removed []string
	stacks, clusters := stackfiles.HasStacks(whole.Sub(folder)), clusterfiles.HasClusters(whole.Sub(folder))
	rest := removeEntries(whole.Sub(folder), func(e tree.Entry) bool {
		at := path.Join(folder, e.Name)
		if !e.IsDir() || !ours[e.Name] || keep != "" && (keep == at || strings.HasPrefix(keep, at+"/")) || holdsRecord(e.Tree(), 1) {
			return false
		}
		apart := stacks && (e.Name == stackfiles.ObjectsFolder || e.Name == stackfiles.ModulesFolder) || clusters && e.Name == clusterfiles.Folder
		if !apart {
			removed = append(removed, e.Name)
		}
		return true
	})
	return replaceFolder(whole, folder, withoutMetadata(rest)), removed
}
