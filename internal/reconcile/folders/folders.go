// Package folders promotes where environments are folders of plain repositories, without a
// control plane: it makes a folder hold what another one holds, by one stable pull request.
//
// What the package keeps true:
//   - The copy is byte for byte, modes and deletions included, but for what belongs to one
//     cluster: folders called flux-system, and what the target's .fairlead-keep names
//     (in the syntax of .gitignore), are neither brought nor changed nor removed.
//   - Outside of the target folder nothing changes.
//   - It does nothing when the folder holds that already. A pull request whose change is
//     wanted no more is withdrawn, and one that a person has closed stays closed until
//     what it proposes is another change.
//   - It moves its own branch only, and only while no other author has committed to it.
//   - The same two folders give the same commit, so that two that race do the same.
package folders

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// KeepFile names, in the target folder, what of it is left alone.
const KeepFile = ".fairlead-keep"

// alwaysKept is left alone whatever the target says; its own file is the last word, so that
// nothing can take it back.
const alwaysKept = "flux-system/\n/" + KeepFile + "\n"

// Location is a folder of a branch of a repository.
type Location struct {
	Remote *git.Remote // synced by the caller
	Branch string
	Folder string // "" for the root
}

// String returns "folder of branch", for people.
func (p Location) String() string { return p.describe(func(name string) string { return name }) }

func (p Location) describe(quote func(string) string) string {
	if p.Folder == "" {
		return "branch " + quote(p.Branch)
	}
	return quote(p.Folder) + " of branch " + quote(p.Branch)
}

// Copy is what making one folder hold what another one holds comes to.
type Copy struct {
	From, To Location
	// Before is what the target folder holds, After what it is to hold. They have the
	// content of files that differ, and of the others the ids.
	Before, After tree.Tree
	// Kept counts the files of the target that are left alone, Skipped those of the
	// source that are not brought.
	Kept, Skipped int
	// LastChange is the commit that gave the source folder what it holds.
	LastChange git.CommitInfo

	head string // of the target branch
	when time.Time
}

// IsEmpty reports whether there is nothing to do.
func (c Copy) IsEmpty() bool { return tree.Equal(c.Before, c.After) }

// PlanCopy reads both folders, and says what is to be done. It refuses folders of which one
// is in the other, and a source without a file.
func PlanCopy(from, to Location) (Copy, error) {
	c := Copy{From: from, To: to}
	for _, p := range []*Location{&c.From, &c.To} {
		clean, err := cleanFolder(p.Folder)
		if err != nil {
			return c, err
		}
		p.Folder = clean
	}
	if err := c.checkApart(); err != nil {
		return c, err
	}
	fromHead, err := headOf(c.From)
	if err != nil {
		return c, err
	}
	c.head, err = headOf(c.To)
	if err != nil {
		return c, err
	}
	if err := c.composeTrees(fromHead); err != nil {
		return c, err
	}
	if c.From.Folder == "" {
		c.LastChange, err = c.From.Remote.Mirror().Commit(fromHead)
	} else {
		c.LastChange, err = c.From.Remote.Mirror().LastChangedBy(fromHead, c.From.Folder, maxHistory)
	}
	if err != nil {
		return c, err
	}
	info, err := c.To.Remote.Mirror().Commit(c.head)
	c.when = c.LastChange.When
	if info.When.After(c.when) {
		c.when = info.When
	}
	return c, err
}

// cleanFolder returns a folder as trees have it.
func cleanFolder(folder string) (string, error) {
	clean := path.Clean(strings.TrimSuffix(folder, "/"))
	if clean == "." {
		return "", nil
	}
	if err := tree.CheckPath(clean); err != nil {
		return "", problem.Refusef("write it from the root of the repository, as in clusters/staging", "%q cannot be a folder of a repository: %v", folder, err)
	}
	return clean, nil
}

// checkApart refuses folders of one branch of which one is in the other.
func (c Copy) checkApart() error {
	if giturl.Normalize(c.From.Remote.URL()) != giturl.Normalize(c.To.Remote.URL()) || c.From.Branch != c.To.Branch {
		return nil
	}
	a, b := c.From.Folder+"/", c.To.Folder+"/"
	switch {
	case a == b:
		return problem.Refusef("name two", "%s is both the source and the target", c.From)
	case c.From.Folder == "", c.To.Folder == "", strings.HasPrefix(a, b), strings.HasPrefix(b, a):
		return problem.Refusef("name two that are beside each other", "one of the folders %q and %q is in the other", c.From.Folder, c.To.Folder)
	}
	return nil
}

func headOf(p Location) (string, error) {
	mirror := p.Remote.Mirror()
	if mirror == nil {
		return "", fmt.Errorf("%s was not read", p.Remote.URL())
	}
	commit, err := mirror.Branch(p.Branch)
	if errors.Is(err, git.ErrNoRevision) {
		return "", problem.Refusef("--branch names that of the source, and --to-branch that of the target; make it first if it is new",
			"%s has no branch %s", p.Remote.URL(), p.Branch)
	}
	return commit, err
}

// maxHistory bounds how far back the commit is looked for that a folder is of.
const maxHistory = 1000

// composeTrees finds out what the target is to hold: by ids first, and then with the content
// of what differs.
func (c *Copy) composeTrees(fromHead string) error {
	from, err := readFolder(c.From, fromHead)
	if err != nil {
		return err
	}
	target, err := readFolder(c.To, c.head)
	if err != nil {
		return err
	}
	loaded, err := c.To.Remote.Mirror().LoadFiles(target, tree.Tree{}, func(file string, _ int64) bool { return file == KeepFile })
	if err != nil {
		return err
	}
	keep, _ := loaded.Lookup(KeepFile)
	kept := source.NewIgnoreMatcher(string(keep.Data) + "\n" + alwaysKept)
	if from.IsEmpty() {
		return problem.Refusef("check its name; what is to be removed is removed by hand", "there is no folder %s with a file", c.From)
	}
	after, err := c.mergeTrees(from, target, kept)
	if err != nil {
		return err
	}
	differs := map[string]bool{}
	for change := range tree.Diff(target, after) {
		differs[change.Path] = true
	}
	want := func(file string, _ int64) bool { return differs[file] }
	c.Before, err = c.To.Remote.Mirror().LoadFiles(target, tree.Tree{}, want)
	if err != nil {
		return err
	}
	from, err = c.From.Remote.Mirror().LoadFiles(from, tree.Tree{}, want)
	if err != nil {
		return err
	}
	c.After, err = c.mergeTrees(from, c.Before, kept)
	return err
}

func readFolder(p Location, commit string) (tree.Tree, error) {
	t, err := p.Remote.Mirror().ReadTree(commit)
	return t.Sub(p.Folder), err
}

// mergeTrees returns the files of the source, and those of the target that are left alone.
func (c *Copy) mergeTrees(source, target tree.Tree, kept func(string) bool) (tree.Tree, error) {
	var b tree.Builder
	c.Kept, c.Skipped = 0, 0
	brought := 0
	for file, e := range target.Walk() {
		if !kept(file) {
			continue
		}
		c.Kept++
		if err := b.AddEntry(file, e); err != nil {
			return tree.Tree{}, err
		}
	}
	for file, e := range source.Walk() {
		if kept(file) {
			c.Skipped++
			continue
		}
		brought++
		if err := b.AddEntry(file, e); err != nil {
			return tree.Tree{}, problem.Refusef("rename one of the two", "what %s keeps is in the way of what %s has: %v", c.To, c.From, err)
		}
	}
	if brought == 0 {
		return tree.Tree{}, problem.Refusef("what is to be removed is removed by hand", "nothing is left of %s: all of its files are those of one cluster", c.From)
	}
	return b.Tree(), nil
}

// branchName is ours, and the same for the same two places. The readable part may be cut.
func (c Copy) branchName(prefix string) string {
	const most = 60
	words := strings.FieldsFunc(c.From.Branch+"/"+c.From.Folder+"/to/"+c.To.Branch+"/"+c.To.Folder, func(r rune) bool {
		return r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z'
	})
	readable := strings.Join(slices.Compact(words), "-")
	return prefix + "copy/" + readable[:min(len(readable), most)] + "-" + c.locationsDigest()
}
