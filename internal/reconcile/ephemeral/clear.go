package ephemeral

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// Cleared is the progress of the removal of an output.
type Cleared struct {
	Done bool
	// Reason is what it waits for, in one sentence; "" if it is done.
	Reason string
	// Hint is set if people have to change the control plane before it goes on: what to do.
	Hint string
	// Pull is the open pull request that a person is to merge or close; nil without one.
	Pull *forge.Pull
	// Again reports whether to try again though no reference moves.
	Again bool
	// Kept is why the branch of the output stays; "" if it does not, or others have a
	// part in it.
	Kept string
}

// ClearOutput removes the output of an ephemeral environment, as far as it is ours: a branch
// that we began for it goes, unless a person's commit is on it; from that, and from one that others have a part in, the folders of our
// record go by a pull request, which is merged as merge says. Killed at any point and
// called again, it comes to the same end.
func ClearOutput(ctx context.Context, o publish.Options, environment, branch, folder string, merge publish.Merge) (Cleared, error) {
	repo := o.Remote.Mirror()
	head, err := repo.Branch(branch)
	if errors.Is(err, git.ErrNoRevision) {
		return Cleared{Done: true}, nil
	}
	if err != nil {
		return Cleared{}, err
	}
	ours, err := isOwnBranch(repo, head, branch, environment)
	if err != nil {
		return Cleared{}, err
	}
	kept := ""
	if ours {
		kept, err = findPerson(repo, head, publish.CleanFolder(folder), environment)
		if err != nil {
			return Cleared{}, err
		}
		if kept != "" {
			kept = fmt.Sprintf("the branch %s stays, since %s", branch, kept)
		}
	}
	if ours && kept == "" {
		o.Announce("remove the output of an ephemeral environment")
		return Cleared{Done: true}, o.Remote.Push(ctx, nil, git.RefUpdate{Ref: heads + branch, Old: head})
	}
	done, err := clearFolder(ctx, o, environment, branch, head, folder, kept, merge)
	done.Kept = kept
	if kept != "" && done.Reason != "" {
		done.Reason += "; " + kept
	}
	return done, err
}

// maxOutput bounds how far back an output's branch is looked at.
const maxOutput = 10_000

// isOwnBranch reports whether a branch is one that we began for an environment: it has a name
// that nothing else would have, and at its beginning a commit that says it is ours, and for this
// environment.
func isOwnBranch(repo *git.Repository, head, branch, environment string) (bool, error) {
	if branch != source.EphemeralBranches+environment && branch != sharedBranches+environment {
		return false, nil
	}
	line, err := repo.FirstParents(head, maxOutput, func(string) bool { return false })
	if err != nil {
		return false, err
	}
	first, err := repo.Commit(line[len(line)-1])
	if err != nil {
		return false, err
	}
	return len(first.Parents) == 0 && slices.Equal(publish.Trailers(first.Message)["Fairlead-Environment"], []string{environment}), nil
}

func clearFolder(ctx context.Context, o publish.Options, environment, branch, head, folder, kept string, merge publish.Merge) (Cleared, error) {
	repo, ours := o.Remote.Mirror(), o.Prefix+"change/ephemeral/"+environment
	files, err := git.InspectTree(repo, head, func(t tree.Tree) (map[string][]byte, error) {
		return ownedFiles(t, publish.CleanFolder(folder), environment)
	})
	if err != nil {
		return Cleared{}, err
	}
	if len(files) == 0 {
		return Cleared{Done: true}, publish.Withdraw(ctx, o, ours, branch, removalTrailer, "The output is gone.")
	}
	info, err := repo.Commit(head)
	if err != nil {
		return Cleared{}, err
	}
	title := forge.FitTitle("Remove the output of the ephemeral environment " + environment)
	body := fmt.Sprintf("The ephemeral environment %s is over. This removes what Fairlead has written for it, and nothing else.\n", forge.CodeSpan(environment))
	if kept != "" {
		body += "\n" + forge.EscapeMarkdown(strings.ToUpper(kept[:1])+kept[1:]) + ".\n"
	}
	pull, err := publish.Edit{Branch: branch, Head: head, Files: files, Message: commitMessage(title), When: info.When}.Propose(ctx, o, forge.Proposal{
		Mark: "ephemeral " + environment, Head: ours, Base: branch, Title: title, Body: body,
	})
	if err != nil {
		return Cleared{}, err
	}
	if pull.State == forge.Closed {
		return Cleared{Reason: fmt.Sprintf("pull request %d, which removes its output, was closed; open it again, or remove the output by hand", pull.Number)}, nil
	}
	return mergeRemoval(ctx, o, pull, merge)
}

// readOwnRecord returns what the record in a folder says of an environment; nil if there is no
// record, or it is of others too.
func readOwnRecord(folder tree.Tree, environment string) (*publish.Written, error) {
	e, ok := folder.Lookup(publish.RecordFile)
	if !ok {
		return nil, nil
	}
	record, err := publish.ReadRecord(e.Data)
	if err != nil || len(record.Environments) != 1 || record.Environments[0].Environment != environment {
		return nil, err
	}
	return &record.Environments[0], nil
}

func ownedFiles(whole tree.Tree, folder, environment string) (map[string][]byte, error) {
	now := whole.Sub(folder)
	own, err := readOwnRecord(now, environment)
	if err != nil || own == nil {
		return nil, err
	}
	files := map[string][]byte{path.Join(folder, publish.RecordFile): nil}
	if _, ok := now.Lookup(output.TrackingFile); ok {
		files[path.Join(folder, output.TrackingFile)] = nil
	}
	for _, name := range own.Folders {
		if strings.HasPrefix(name, ".") {
			continue
		}
		for file := range now.Sub(name).Walk() {
			files[path.Join(folder, name, file)] = nil
		}
	}
	return files, nil
}

func mergeRemoval(ctx context.Context, o publish.Options, pull forge.Pull, merge publish.Merge) (Cleared, error) {
	waits := Cleared{Reason: fmt.Sprintf("pull request %d, which removes its output, is to be merged", pull.Number)}
	merger, ok := o.Forge.(forge.Merger)
	if !ok || merge == "" || merge == publish.Manual || pull.State != forge.Open {
		return waits, nil
	}
	o.Announce("merge the pull request that removes an output")
	err := merge.Apply(ctx, merger, pull.Number, pull.Commit)
	switch {
	case errors.Is(err, forge.ErrUnsupported):
		return waits, nil
	case errors.Is(err, forge.ErrNotReady), errors.Is(err, forge.ErrMoved), errors.Is(err, forge.ErrConflict):
		waits.Again = true
		return waits, nil
	case err != nil:
		return Cleared{}, err
	}
	waits.Again = merge == publish.Direct // the branch is not known to have moved yet
	return waits, nil
}
