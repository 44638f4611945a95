// Package objects opens and reads the object store and the references of a repository.
//
// What the package keeps true: every layout that Git writes is read, by go-git; a mirror,
// which has only packs, is read by package pack, and a pack that is added costs the reading of
// its own index and no other.
package objects

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/fairlead-io/fairlead/internal/base/recent"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/pack"
)

const (
	// objectCache bounds the memory for the bases of deltas.
	objectCache = 4 * cache.MiByte
	// openPacks is how many packs of a repository are kept open.
	openPacks = 8
)

// Open opens the data folder of a repository by its full path. go-git's own Open refuses
// extensions that do not matter to a reader, such as that of sparse checkouts.
func Open(dir string) (*Store, error) {
	files := osfs.New(dir)
	data, err := os.ReadFile(filepath.Join(dir, "commondir"))
	if err != nil {
		_, err := os.Stat(filepath.Join(dir, "objects"))
		if errors.Is(err, fs.ErrNotExist) { // it has no objects and shares none
			return nil, ErrNoRepository
		}
	} else {
		shared := strings.TrimSpace(string(data))
		if !filepath.IsAbs(shared) {
			shared = filepath.Join(dir, shared)
		}
		files = dotgit.NewRepositoryFilesystem(files, osfs.New(shared))
	}
	storage := filesystem.NewStorageWithOptions(files, cache.NewObjectLRU(objectCache), filesystem.Options{AlternatesFS: osfs.New("/"), MaxOpenDescriptors: openPacks})
	if err := checkFormat(storage); err != nil {
		return nil, err
	}
	return &Store{Storage: storage}, nil
}

// checkFormat returns an error for the two extensions that change how objects and references
// are stored.
func checkFormat(store *filesystem.Storage) error {
	settings, err := store.Config()
	if err != nil {
		return fmt.Errorf("read its settings: %w", err)
	}
	for _, o := range settings.Raw.Section("extensions").Options {
		key, value := strings.ToLower(o.Key), strings.ToLower(o.Value)
		if key == "objectformat" && value != "sha1" || key == "refstorage" && value != "files" {
			return fmt.Errorf("repositories with extensions.%s = %s cannot be read", o.Key, o.Value)
		}
	}
	return nil
}

// Store is the objects and references of a repository. Those of a mirror, which are all in
// packs, are read by package pack: go-git reads all indexes again whenever a pack is added,
// which takes half a second for 500,000 objects.
type Store struct {
	*filesystem.Storage
	packs *pack.Set // nil if it is not a mirror
	// FetchMissing fetches objects of one kind that a partial mirror left at the server. nil means
	// that the store has everything: what it lacks is damage.
	FetchMissing func(kind pack.Kind, ids []tree.ID) error
	// folders and texts are caches; folderBytes and textBytes are their sizes.
	folders     recent.Map[tree.ID, Folder]
	folderBytes int
	files       recent.Map[tree.ID, []byte]
	fileBytes   int
	references  map[plumbing.ReferenceName]plumbing.Hash // of a mirror; nil if they must be read
}

// OpenPacks makes the store read objects from the packs of the mirror in dir, and nowhere else.
func (s *Store) OpenPacks(dir string) (err error) {
	s.packs, err = pack.Open(filepath.Join(dir, "objects", "pack"))
	return err
}

// ClonePacks returns the packs of a mirror, to be read concurrently with s. The caller must close
// them.
func (s *Store) ClonePacks() *pack.Set { return s.packs.Clone() }

// Refresh reads the list of packs again.
func (s *Store) Refresh() error {
	if s.packs != nil {
		_, err := s.packs.Refresh()
		return err
	}
	err := s.Storage.ObjectStorage.Close() // packs that are kept open may be gone
	s.Reindex()
	return err
}

// Close closes the files; they are opened again when they are read.
func (s *Store) Close() error {
	if s.packs != nil {
		return s.packs.Close()
	}
	return s.Storage.ObjectStorage.Close()
}

// refreshPacks reads the list of packs of a mirror again and reports whether another process
// changed it, so that an object that was not found may be there.
func (s *Store) refreshPacks() bool {
	if s.packs == nil {
		return false
	}
	changed, err := s.packs.Refresh()
	return changed && err == nil
}

// ReadObject returns the content of an object of a kind, which must not be changed. A partial mirror
// fetches the object from its server if it lacks it. The error is plumbing.ErrObjectNotFound if
// there is no such object.
func (s *Store) ReadObject(kind pack.Kind, id tree.ID) ([]byte, error) {
	return s.ReadLimited(kind, id, math.MaxInt64)
}

// ReadLimited is Read for objects of at most limit bytes; the error is [pack.ErrLarge] for larger
// ones.
func (s *Store) ReadLimited(kind pack.Kind, id tree.ID, limit int64) ([]byte, error) {
	if s.packs == nil {
		return s.readWithGoGit(kind, id, limit)
	}
	var found pack.Kind
	var data []byte
	err := s.readPacked(id, func() (err error) {
		found, data, err = s.packs.ReadLimited(id, limit)
		return err
	}, kind)
	if err == nil && found != kind {
		return nil, plumbing.ErrObjectNotFound
	}
	return data, err
}

// readPacked calls read, which reads an object from the packs, once more if it fails and another process
// has changed the packs. An object of the kind to fetch that a partial mirror lacks is fetched.
func (s *Store) readPacked(id tree.ID, read func() error, fetch ...pack.Kind) error {
	err := read()
	if err != nil && !errors.Is(err, pack.ErrLarge) && s.refreshPacks() {
		err = read()
	}
	if errors.Is(err, pack.ErrNotFound) && s.FetchMissing != nil && len(fetch) > 0 {
		err = s.FetchMissing(fetch[0], []tree.ID{id})
		if err == nil {
			err = read()
		}
	}
	if errors.Is(err, pack.ErrNotFound) {
		return plumbing.ErrObjectNotFound
	}
	return err
}

func (s *Store) readWithGoGit(kind pack.Kind, id tree.ID, limit int64) (data []byte, err error) {
	if size, err := s.EncodedObjectSize(plumbing.Hash(id)); err == nil && size > limit {
		return nil, pack.ErrLarge
	}
	o, err := s.Storage.EncodedObject(plumbing.ObjectType(kind), plumbing.Hash(id))
	if err != nil {
		return nil, err
	}
	in, err := o.Reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return io.ReadAll(in)
}

// EncodedObject returns an object in go-git's form.
func (s *Store) EncodedObject(kind plumbing.ObjectType, id plumbing.Hash) (plumbing.EncodedObject, error) {
	if s.packs == nil {
		return s.Storage.EncodedObject(kind, id)
	}
	var found pack.Kind
	o := &plumbing.MemoryObject{}
	err := s.readPacked(tree.ID(id), func() error {
		var data []byte
		var err error
		found, data, err = s.packs.Read(tree.ID(id))
		_, _ = o.Write(data) // into memory
		return err
	})
	o.SetType(plumbing.ObjectType(found))
	if err == nil && kind != plumbing.AnyObject && kind != o.Type() {
		err = plumbing.ErrObjectNotFound
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// HasEncodedObject returns nil if the store has the object.
func (s *Store) HasEncodedObject(id plumbing.Hash) error {
	if s.packs == nil {
		return s.Storage.HasEncodedObject(id)
	}
	if s.packs.Has(tree.ID(id)) || s.refreshPacks() && s.packs.Has(tree.ID(id)) {
		return nil
	}
	return plumbing.ErrObjectNotFound
}

// EncodedObjectSize returns the size of an object's content in bytes.
func (s *Store) EncodedObjectSize(id plumbing.Hash) (int64, error) {
	if s.packs == nil {
		size, err := s.Storage.EncodedObjectSize(id)
		if err == nil {
			return size, nil
		}
		o, err := s.Storage.EncodedObject(plumbing.AnyObject, id) // go-git's size is not found in alternates
		if err != nil {
			return 0, err
		}
		return o.Size(), nil
	}
	var size int64
	err := s.readPacked(tree.ID(id), func() (err error) {
		size, err = s.packs.Size(tree.ID(id))
		return err
	}, pack.Blob) // only the sizes of files are read
	return size, err
}

// Missing returns the objects that the store lacks, each once.
func (s *Store) Missing(ids []tree.ID) []tree.ID {
	find := func(ids []tree.ID) (lacking []tree.ID) {
		seen := map[tree.ID]bool{}
		for _, id := range ids {
			if !seen[id] && !s.hasObject(id) {
				lacking = append(lacking, id)
			}
			seen[id] = true
		}
		return lacking
	}
	lacking := find(ids)
	if len(lacking) > 0 && s.refreshPacks() {
		lacking = find(lacking)
	}
	return lacking
}

// hasObject reports whether one of the known packs has an object.
func (s *Store) hasObject(id tree.ID) bool { return s.packs == nil || s.packs.Has(id) }

// HashesWithPrefix returns the ids of objects that begin with prefix.
func (s *Store) HashesWithPrefix(prefix []byte) ([]plumbing.Hash, error) {
	if s.packs == nil {
		return s.Storage.HashesWithPrefix(prefix)
	}
	var found []plumbing.Hash
	for _, id := range s.packs.FindPrefix(prefix) {
		found = append(found, plumbing.Hash(id))
	}
	return found, nil
}

// PackfileWriter returns a writer for a fetched pack, whose objects are found after Refresh.
func (s *Store) PackfileWriter() (io.WriteCloser, error) {
	if s.packs == nil {
		return s.Storage.PackfileWriter()
	}
	w, err := dotgit.New(osfs.New(s.Filesystem().Root())).NewObjectPack()
	if err != nil {
		return nil, fmt.Errorf("make a pack: %w", err)
	}
	return w, nil
}

// ErrNoRepository means that there is no repository, or none that may be read.
var ErrNoRepository = errors.New("no such repository")

// FindDir returns the folder with the data of the repository at path: path itself, .git in it, or
// the folder that the file .git names.
func FindDir(path string) (string, error) {
	dot := filepath.Join(path, ".git")
	info, err := os.Stat(dot)
	switch {
	case err == nil && info.IsDir():
		path = dot
	case err == nil:
		data, err := os.ReadFile(dot)
		if err != nil {
			return "", err
		}
		target, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
		if !ok {
			return "", ErrNoRepository
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(path, target)
		}
		path = target
	}
	for _, part := range []string{"HEAD", "."} { // a file is not a repository, and neither is a folder without HEAD
		if _, err := os.Stat(filepath.Join(path, part)); err != nil {
			return "", ErrNoRepository
		}
	}
	return path, nil
}

// InitMirror makes an empty mirror of a URL in a temporary folder and renames it to dir.
func InitMirror(dir, url string) error {
	fresh, err := os.MkdirTemp(filepath.Dir(dir), ".mirror-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	r, err := gogit.PlainInit(fresh, true)
	if err != nil {
		return err
	}
	origin := &config.RemoteConfig{Name: "origin", URLs: []string{url}, Mirror: true, Fetch: []config.RefSpec{"+refs/heads/*:refs/heads/*"}}
	if _, err := r.CreateRemote(origin); err != nil {
		return err
	}
	return os.Rename(fresh, dir)
}
