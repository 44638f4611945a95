package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// branchNote describes the branches that a command reads. withCommits adds how to
// compare unpushed commits. prefersOrigin means that newer branches of origin are read.
type branchNote struct{ isBase, withCommits, prefersOrigin bool }

// noteBranches warns about local branches that differ from origin: that of the base, if
// it is read, and those of the environments. It ignores errors; the command reports
// them.
func noteBranches(ctx context.Context, to io.Writer, s *source.Source, note branchNote, environments []string) {
	base, err := s.Base(ctx)
	if err != nil || base.Repo == nil {
		return
	}
	var names []string
	if note.isBase {
		names = append(names, base.Branch)
	}
	for _, environment := range environments {
		branch, err := s.Branch(ctx, environment)
		if err == nil && branch.Repo == base.Repo {
			names = append(names, branch.Name)
		}
	}
	var differ, newer []string
	isBehind, ahead := false, ""
	for _, name := range names {
		d, err := compareWithOrigin(base.Repo, name)
		switch {
		case err != nil || d.text() == "":
		case note.prefersOrigin && d.ahead == 0:
			newer = append(newer, fmt.Sprintf("%s, which is %s ahead of %s", d.origin, text.Count(d.behind, "commit"), name))
		default:
			differ, isBehind = append(differ, name+" is "+d.text()), isBehind || d.behind > 0
			if d.ahead > 0 {
				ahead = d.origin
			}
		}
	}
	if newer != nil {
		fmt.Fprintf(to, "fairlead: note: origin's branches are read where they are newer: %s\n", text.Join(newer, " and "))
	}
	if differ == nil {
		return
	}
	remedy := ""
	if isBehind {
		remedy = "; git pull brings a branch up to date"
	}
	if note.withCommits && ahead != "" {
		remedy += "; name " + ahead + " as A to see what is not pushed"
	}
	fmt.Fprintf(to, "fairlead: note: the branches of this clone are read: %s%s\n", text.Join(differ, " and "), remedy)
}

type divergence struct {
	origin        string
	ahead, behind int
}

func compareWithOrigin(repo *git.Repository, name string) (divergence, error) {
	d := divergence{origin: "origin/" + name}
	ours, err := repo.Refs("refs/heads/" + name)
	if err != nil {
		return d, err
	}
	theirs, err := repo.Refs("refs/remotes/" + d.origin)
	if err != nil {
		return d, err
	}
	here, there := ours["refs/heads/"+name], theirs["refs/remotes/"+d.origin]
	if here == "" || there == "" || here == there {
		return d, nil
	}
	d.ahead, err = countMissing(repo, there, here)
	if err != nil {
		return d, err
	}
	d.behind, err = countMissing(repo, here, there)
	return d, err
}

func countMissing(repo *git.Repository, commit, other string) (int, error) {
	has, err := repo.Contains(commit, other)
	if err != nil || has {
		return 0, err
	}
	missing, err := repo.CommitsBetween(commit, other, maxBehind)
	return len(missing), err
}

func (d divergence) text() string {
	var parts []string
	if d.ahead > 0 {
		parts = append(parts, text.Count(d.ahead, "commit")+" ahead of")
	}
	if d.behind > 0 {
		parts = append(parts, text.Count(d.behind, "commit")+" behind")
	}
	if parts == nil {
		return ""
	}
	return strings.Join(parts, " and ") + " " + d.origin
}
