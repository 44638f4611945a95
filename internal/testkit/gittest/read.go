package gittest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// findRepository returns the folder of the repository of a work tree, or of a bare repository.
func findRepository(dir string) (string, error) {
	if os.Getenv(onlyGitVariable) != "" {
		return "", errLeft
	}
	for _, found := range []string{filepath.Join(dir, ".git"), dir} {
		if info, err := os.Stat(filepath.Join(found, "objects")); err == nil && info.IsDir() {
			return found, nil
		}
	}
	return "", errLeft
}

// readReference returns the commit that HEAD or a branch names.
func readReference(dir, rev string) (objectID, error) {
	repository, err := findRepository(dir)
	if err != nil {
		return objectID{}, err
	}
	name, err := findReference(repository, rev)
	if err != nil {
		return objectID{}, err
	}
	text, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(name)))
	if err != nil {
		return readPackedReference(repository, name)
	}
	return parseID(strings.TrimSpace(string(text)))
}

func parseID(text string) (objectID, error) {
	if !plumbing.IsHash(text) {
		return objectID{}, errLeft
	}
	return objectID(plumbing.NewHash(text)), nil
}

// findReference returns the reference that HEAD or the name of a branch is.
func findReference(repository, rev string) (string, error) {
	if rev == "HEAD" {
		head, err := os.ReadFile(filepath.Join(repository, rev))
		name, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: ")
		if err != nil || !ok {
			return "", errLeft
		}
		return name, nil
	}
	for _, other := range []string{"", "refs/", "refs/tags/"} { // git takes these first
		if _, err := os.Lstat(filepath.Join(repository, other+rev)); err == nil {
			return "", errLeft
		}
	}
	name := "refs/heads/" + rev
	if plumbing.ReferenceName(name).Validate() != nil {
		return "", errLeft
	}
	return name, nil
}

func readPackedReference(repository, name string) (objectID, error) {
	text, err := os.ReadFile(filepath.Join(repository, "packed-refs"))
	if err != nil || strings.Contains(string(text), " refs/tags/") {
		return objectID{}, errLeft
	}
	for line := range strings.Lines(string(text)) {
		if id, ok := strings.CutSuffix(strings.TrimSpace(line), " "+name); ok {
			return parseID(id)
		}
	}
	return objectID{}, errLeft
}

// revision is the files of a commit.
type revision struct {
	objects string // the folder of the repository's objects
	packs   *pack.Set
	root    objectID
}

// openRevision opens what HEAD, a branch or the id of a commit names. The caller closes its packs.
func openRevision(dir, rev string) (*revision, error) {
	id, err := parseID(rev)
	if err != nil {
		id, err = readReference(dir, rev)
	}
	if err != nil {
		return nil, err
	}
	repository, err := findRepository(dir)
	if err != nil {
		return nil, err
	}
	r := &revision{objects: filepath.Join(repository, "objects")}
	r.packs, err = pack.Open(filepath.Join(r.objects, "pack"))
	if err != nil {
		return nil, err
	}
	r.root, err = r.findRoot(id)
	if err != nil {
		_ = r.packs.Close() // they were only read
		return nil, err
	}
	return r, nil
}

func (r *revision) findRoot(commit objectID) (objectID, error) {
	data, err := r.readObject(commit, pack.Commit)
	if err != nil {
		return objectID{}, err
	}
	found, err := parseLinks(pack.Commit, data)
	if err != nil || len(found.folders) != 1 {
		return objectID{}, errLeft
	}
	return found.folders[0], nil
}

// readObject returns the content of an object, which is in a pack or a file of its own.
func (r *revision) readObject(id objectID, wanted pack.Kind) ([]byte, error) {
	if r.packs.Has(id) {
		kind, data, err := r.packs.Read(id)
		if err == nil && kind != wanted {
			err = errLeft
		}
		return data, err
	}
	o, err := readLoose(r.objects, id)
	if err == nil && o.kind != wanted {
		err = errLeft
	}
	return o.data, err
}

func readLoose(folder string, id objectID) (object, error) {
	name := id.String()
	packed, err := os.ReadFile(filepath.Join(folder, name[:2], name[2:]))
	if err != nil {
		return object{}, err
	}
	text, err := inflate(bytes.NewReader(packed))
	if err != nil {
		return object{}, err
	}
	head, data, _ := bytes.Cut(text, []byte{0})
	word, _, _ := strings.Cut(string(head), " ")
	kind, err := plumbing.ParseObjectType(word)
	if err != nil {
		return object{}, err
	}
	found := newObject(pack.Kind(kind), data)
	if found.id != id {
		return object{}, errLeft
	}
	return found, nil
}

func (r *revision) eachEntry(folder objectID, call func(mode filemode.FileMode, name string, id objectID) error) error {
	data, err := r.readObject(folder, pack.Tree)
	if err != nil {
		return err
	}
	return eachEntry(data, call)
}

// eachEntry calls a function with what a tree has.
func eachEntry(data []byte, call func(mode filemode.FileMode, name string, id objectID) error) error {
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		word, name, _ := strings.Cut(string(head), " ")
		mode, err := filemode.New(word)
		var id objectID
		if !ok || err != nil || copy(id[:], rest) < len(id) {
			return errLeft
		}
		data = rest[len(id):]
		if err := call(mode, name, id); err != nil {
			return err
		}
	}
	return nil
}

func (r *revision) addFiles(files map[string]string, prefix string, folder objectID) error {
	return r.eachEntry(folder, func(mode filemode.FileMode, name string, id objectID) error {
		switch mode {
		case filemode.Submodule: // a commit of another repository
			return nil
		case filemode.Dir:
			return r.addFiles(files, prefix+name+"/", id)
		}
		data, err := r.readObject(id, pack.Blob)
		files[prefix+name] = string(data)
		return err
	})
}

func (r *revision) findFile(path string) (found objectID, err error) {
	folder := r.root
	for part := range strings.SplitSeq(path, "/") {
		found = objectID{}
		err := r.eachEntry(folder, func(_ filemode.FileMode, name string, id objectID) error {
			if name == part {
				found = id
			}
			return nil
		})
		if err != nil || found == (objectID{}) {
			return found, errLeft
		}
		folder = found
	}
	return found, nil
}

func readFile(dir, rev, path string) (string, error) {
	r, err := openRevision(dir, rev)
	if err != nil {
		return "", err
	}
	defer r.packs.Close()
	id, err := r.findFile(path)
	if err != nil {
		return "", err
	}
	data, err := r.readObject(id, pack.Blob)
	return string(data), err
}

func readFiles(dir, rev string) (map[string]string, error) {
	r, err := openRevision(dir, rev)
	if err != nil {
		return nil, err
	}
	defer r.packs.Close()
	files := map[string]string{}
	return files, r.addFiles(files, "", r.root)
}
