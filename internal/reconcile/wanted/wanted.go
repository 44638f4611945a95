// Package wanted reads from the output branches of environments what their clusters should run.
//
// What the package keeps true: what is read of a branch that grew is what is read of the whole branch;
// a branch that was rewritten goes on with the commits that are new; of a commit that changes one
// assignment, one file is read.
package wanted

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// Branch is where the output of an environment goes, in a repository that was fetched.
type Branch struct {
	Environment string
	Repo        string // its URL, without a password
	Branch      string
	Folder      string
	Order       int // where the environment comes in the order of promotion
	// Expected is how many clusters of a type there should be, where something says so.
	Expected map[string]int
	// Remote is the repository.
	Remote *git.Remote
	// FindRemote returns the repository at a URL, if it is read; nil if it is not. It may be nil.
	FindRemote func(url string) *git.Remote
}

// Known is what is recorded of a branch.
type Known struct {
	Newest  string            // the commit that was recorded last; "" if there is none
	Folders map[string]string // the ids of the trees of cluster types then
}

// FindHead returns the head of the branch; "" if there is no branch.
func (b Branch) FindHead() (string, error) {
	mirror := b.Remote.Mirror()
	if mirror == nil {
		return "", nil
	}
	return mirror.FindBranch(b.Branch)
}

// News are commits of a branch that are not recorded.
type News struct {
	Commits []string // the oldest first
	// Rewritten is set if the head does not descend from the newest commit that is recorded. Fork is then
	// the newest recorded one that the branch has; "" if it has none.
	Rewritten bool
	Fork      string
}

// ListNew returns the commits of a branch that follow the newest that is recorded. If the branch was
// rewritten, they are those that were never recorded, or its head alone.
func (b Branch) ListNew(head, newest string, isRecorded func(commit string) (bool, error)) (News, error) {
	repo := b.Remote.Mirror()
	line, err := repo.FirstParents(head, maxCommits, func(commit string) bool { return commit == newest })
	if err != nil {
		return News{}, err
	}
	if line[len(line)-1] == newest {
		line = line[:len(line)-1]
		slices.Reverse(line)
		return News{Commits: line}, nil
	}
	found := News{Rewritten: newest != ""}
	for i, commit := range line {
		recorded, err := isRecorded(commit)
		if err != nil {
			return News{}, err
		}
		if recorded {
			found.Fork, line = commit, line[:max(i, 1)]
			break
		}
	}
	slices.Reverse(line)
	found.Commits = line
	return found, nil
}

// maxCommits bounds the commits of one branch.
const maxCommits = 1_000_000

// Reader reads the changes of a branch, one commit after the other.
type Reader struct {
	branch  Branch
	known   Known
	records publish.Records
	parts   map[string][]ledger.Part // by the ids of blobs
	// Blobs is how many files were read.
	Blobs int
}

// NewReader returns a reader of the commits after those that are known.
func NewReader(b Branch, known Known) *Reader {
	return &Reader{branch: b, known: Known{known.Newest, maps.Clone(known.Folders)}}
}

// ReadChange returns what a commit has changed since the one that was read before it, or that is known.
func (r *Reader) ReadChange(ctx context.Context, commit string) (ledger.OutputChange, error) {
	c, err := r.readChange(ctx, commit, r.known.Newest)
	if err != nil && r.known.Newest != "" && ctx.Err() == nil {
		c, err = r.readChange(ctx, commit, "") // what was before the branch was rewritten may be gone
	}
	if err != nil {
		return c, fmt.Errorf("read commit %s of %s: %w", commit, r.branch.Repo, err)
	}
	r.known.Newest = commit
	for _, f := range c.Folders {
		if f.ID == "" {
			delete(r.known.Folders, f.ClusterType)
		} else {
			r.known.setFolder(f.ClusterType, f.ID)
		}
	}
	return c, nil
}

func (k *Known) setFolder(clusterType, id string) {
	if k.Folders == nil {
		k.Folders = map[string]string{}
	}
	k.Folders[clusterType] = id
}

func (r *Reader) readChange(ctx context.Context, commit, before string) (ledger.OutputChange, error) {
	r.parts = map[string][]ledger.Part{}
	repo := r.branch.Remote.Mirror()
	c := ledger.OutputChange{Revision: commit, Parts: map[string][]ledger.Part{}}
	info, err := repo.Commit(commit)
	if err != nil {
		return c, err
	}
	c.Merged = info.When
	err = r.prefetchFolders(ctx, commit, before)
	if err != nil {
		return c, err
	}
	_, err = git.InspectTrees(repo, []string{commit, before}, func(trees []tree.Tree) (struct{}, error) {
		now, old := trees[0].Sub(r.branch.Folder), trees[1].Sub(r.branch.Folder)
		record, err := r.records.ReadIn(now)
		if err != nil && !errors.Is(err, publish.ErrBlocked) {
			return struct{}{}, err
		}
		written := findWritten(record, r.branch.Environment)
		c.Base, c.Plane = commitOf(written, publish.BaseLayer), commitOf(written, r.branch.Environment)
		r.compareTypes(&c, findTypes(now, written), now, old)
		return struct{}{}, nil
	})
	if err == nil {
		err = r.readAuthored(&c, info)
	}
	return c, err
}

// prefetchFolders fetches what a partial mirror lacks of what a commit has changed: one after the other,
// each folder would be a request.
func (r *Reader) prefetchFolders(ctx context.Context, commit, before string) error {
	repo := r.branch.Remote.Mirror()
	now, err := repo.View(commit)
	if err != nil {
		return err
	}
	old, err := repo.LocalTree(before)
	if err != nil {
		old = tree.Tree{}
	}
	return r.branch.Remote.Prefetch(ctx, now.Tree.Sub(r.branch.Folder), old.Sub(r.branch.Folder), 0)
}

func findWritten(r publish.Record, environment string) publish.Written {
	for _, w := range r.Environments {
		if w.Environment == environment {
			return w
		}
	}
	return publish.Written{}
}

func commitOf(w publish.Written, layer string) string {
	in, _ := w.Input(layer)
	return in.Commit
}

// findTypes returns the folders of the cluster types: those that the record names, or all if it names
// none.
func findTypes(folder tree.Tree, w publish.Written) map[string]string {
	owned := map[string]bool{}
	for _, f := range w.Folders {
		name, _, _ := strings.Cut(f, "/")
		owned[name] = true
	}
	types := map[string]string{}
	for _, e := range folder.Entries() {
		if e.IsDir() && !strings.HasPrefix(e.Name, ".") && (len(owned) == 0 || owned[e.Name]) {
			types[e.Name] = e.ID.String()
		}
	}
	return types
}

// compareTypes adds the folders of cluster types that are not those that are known, and the files in
// them.
func (r *Reader) compareTypes(c *ledger.OutputChange, types map[string]string, now, old tree.Tree) {
	names := slices.Sorted(maps.Keys(types))
	for name := range r.known.Folders {
		if types[name] == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		id, known := types[name], r.known.Folders[name]
		if id == known {
			continue
		}
		before := old.Sub(name)
		f := ledger.FolderChange{ClusterType: name, ID: id, Whole: id == "" || known == "" || before.ID().String() != known}
		if f.Whole {
			before = tree.Tree{}
		}
		c.Folders = append(c.Folders, f)
		if id != "" {
			r.compareTargets(c, name, before, now.Sub(name))
		}
	}
}

func (r *Reader) compareTargets(c *ledger.OutputChange, clusterType string, before, now tree.Tree) {
	for old, e := range tree.ZipChanged(before, now) {
		if !old.IsDir() && !e.IsDir() {
			continue
		}
		_, before := findReconciler(old.Tree())
		is, after := findReconciler(e.Tree())
		if before == after {
			continue
		}
		f := ledger.FileChange{ClusterType: clusterType, Target: max(old.Name, e.Name)}
		if after != "" {
			f.Digest = after
			r.readParts(c, f.Digest, is.Data)
		}
		c.Files = append(c.Files, f)
	}
}

// findReconciler returns the reconciler.yaml in the folder of a deployment target, and a digest of it
// with the objects that it applies from a folder beside it; "" if there is none.
func findReconciler(target tree.Tree) (file tree.Entry, digest string) {
	file, has := target.Lookup(output.ReconcilerName)
	if !has {
		return file, ""
	}
	objects, ordered := target.Lookup(output.ObjectsName)
	if !ordered {
		return file, file.ID.String()
	}
	return file, tree.HashBlob([]byte(file.ID.String() + objects.ID.String())).String()
}

// readParts adds the parts of a file, which is read once however many types have it.
func (r *Reader) readParts(c *ledger.OutputChange, digest string, text []byte) {
	if _, known := c.Parts[digest]; known {
		return
	}
	r.Blobs++
	c.Parts[digest] = ReadParts(text)
}

// readAuthored reads when the newest commit was made that an output was rendered from. Commits of ours
// have that as their time; they are on the branch themselves, or were merged by the one that is.
func (r *Reader) readAuthored(c *ledger.OutputChange, info git.CommitInfo) error {
	if len(info.Parents) > 1 {
		merged, err := r.branch.Remote.Mirror().Commit(info.Parents[1])
		if err != nil {
			return err
		}
		info = merged
	}
	if publish.IsOurs(info, r.branch.Environment) {
		c.Authored = info.When
	}
	return nil
}
