package kustomize

import (
	"cmp"
	"path"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
)

const (
	hintLocal  = "copy what is needed into the repository; if this is a path there, write ./ in front of it"
	hintBeside = "kustomize takes files from the kustomization's own folder and below; of other folders it takes whole kustomizations"
	hintPath   = "write the path from the kustomization's folder"
	hintLink   = "put the file itself in its place"
)

var userName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*@`)

// isRemote reports whether krusty might take the name for a URL or a Git repository, even if a
// folder has that name. It is wider than krusty's rule: a colon suffices. A name that starts with a
// dot has neither scheme nor user nor host.
func isRemote(name string) bool {
	if strings.HasPrefix(name, ".") {
		return false
	}
	return strings.Contains(name, ":") || userName.MatchString(name) ||
		strings.HasPrefix(strings.ToLower(name), "github.com/")
}

// findEntry looks a name up from the kustomization's folder, and reports names that a build must
// not read.
func (c *checker) findEntry(r nameRef) (at string, e tree.Entry, ok bool) {
	name := text.Shorten(r.value, 80)
	at = path.Join(r.dir, r.value)
	switch {
	case r.value == "":
		c.refuseRef(r, "name a file or folder, or remove the entry", "an entry is empty")
	case isRemote(r.value):
		c.refuseRef(r, hintLocal, "%q is not in the repository, it would have to be fetched", name)
	case path.IsAbs(r.value) || strings.Contains(r.value, `\`):
		c.refuseRef(r, hintPath+", with slashes", "%q is not a relative path", name)
	case at == ".." || strings.HasPrefix(at, "../"):
		c.refuseRef(r, "keep to the files of the repository", "%q leaves the repository", name)
	case at == "." || at == "":
		return "", tree.Dir("", c.files), true
	default:
		return c.lookUpPath(r, at)
	}
	return "", tree.Entry{}, false
}

func (c *checker) lookUpPath(r nameRef, at string) (string, tree.Entry, bool) {
	name := text.Shorten(r.value, 80)
	folder := c.files
	var e tree.Entry
	for part := range strings.SplitSeq(at, "/") {
		var found bool
		e, found = folder.Lookup(part)
		switch {
		case !found:
			c.refuseRef(r, cmp.Or(problem.DidYouMean(part, entryNames(folder)), hintPath), "%q names no file or folder", name)
			return "", e, false
		case e.Mode == tree.ModeSymlink:
			c.refuseRef(r, hintLink, "%q goes through a symbolic link", name)
			return "", e, false
		case e.Mode == tree.ModeSubmodule:
			c.refuseRef(r, "copy what is needed into the repository", "%q goes through a submodule", name)
			return "", e, false
		}
		folder = e.Tree()
	}
	return at, e, true
}

func entryNames(t tree.Tree) []string {
	var all []string
	for _, e := range t.Entries() {
		all = append(all, e.Name)
	}
	return all
}

func (c *checker) readFile(r nameRef) (at string, data []byte, ok bool) {
	at, e, ok := c.findEntry(r)
	if !ok {
		return "", nil, false
	}
	return c.takeFile(r, at, e)
}

func (c *checker) takeFile(r nameRef, at string, e tree.Entry) (string, []byte, bool) {
	switch {
	case e.IsDir():
		c.refuseRef(r, "name a file", "%q is a folder", r.value)
	case !isWithin(at, r.dir):
		c.refuseRef(r, hintBeside, "%q is a file outside of the kustomization's folder", r.value)
	default:
		c.reached[at] = e.Data
		return at, e.Data, true
	}
	return "", nil, false
}

func isWithin(path, folder string) bool {
	return folder == "" || path == folder || strings.HasPrefix(path, folder+"/")
}
