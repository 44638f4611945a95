// Package folders promotes between folders of plain repositories, without a control plane: it
// copies one folder to another, by one stable pull request.
//
// Invariants:
//   - The copy is byte for byte, including modes and deletions. Files of one cluster are never
//     copied, changed or removed: folders named flux-system, and paths in the target's
//     .fairlead-keep, which has the syntax of .gitignore.
//   - Nothing outside the target folder changes.
//   - It does nothing if the folders are equal. An obsolete pull request is withdrawn. A closed one
//     stays closed until the change differs.
//   - It moves only its own branch, and only without commits of other authors.
//   - The same folders give the same commit, even in concurrent processes.
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

// KeepFile lists paths of the target folder to leave alone.
const KeepFile = ".fairlead-keep"

// alwaysKept comes after the target's own patterns, which cannot override it.
const alwaysKept = "flux-system/\n/" + KeepFile + "\n"

// Location is a folder of a branch of a repository.
type Location struct {
	Remote *git.Remote // synced by the caller
	Branch string
	Folder string // "" for the root
}

// String returns a human-readable location.
func (p Location) String() string { return p.describe(func(name string) string { return name }) }

func (p Location) describe(quote func(string) string) string {
	if p.Folder == "" {
		return "branch " + quote(p.Branch)
	}
	return quote(p.Folder) + " of branch " + quote(p.Branch)
}

// Copy is a planned copy.
type Copy struct {
	From, To Location
	// Before and After are the target folder's contents. Only differing files are loaded.
	Before, After tree.Tree
	// Kept counts files kept in the target, and Skipped those not copied from the source.
	Kept, Skipped int
	// LastChange is the last commit that changed the source folder.
	LastChange git.CommitInfo

	head string // of the target branch
	when time.Time
}

// IsEmpty reports whether nothing changes.
func (c Copy) IsEmpty() bool { return tree.Equal(c.Before, c.After) }

// PlanCopy reads both folders. It refuses nested folders and an empty source.
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

const maxHistory = 1000

// composeTrees compares by ids, then loads the content of differing files.
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

// branchName is unique for the two locations. The readable part may be cut.
func (c Copy) branchName(prefix string) string {
	const most = 60
	words := strings.FieldsFunc(c.From.Branch+"/"+c.From.Folder+"/to/"+c.To.Branch+"/"+c.To.Folder, func(r rune) bool {
		return r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z'
	})
	readable := strings.Join(slices.Compact(words), "-")
	return prefix + "copy/" + readable[:min(len(readable), most)] + "-" + c.locationsDigest()
}
