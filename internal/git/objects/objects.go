// Package objects opens the object store and the references of a repository.
//
// What the package keeps true: go-git reads every layout that Git writes. Package pack reads
// mirrors, which have only packs; adding a pack costs reading only its own index.
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
	objectCache = 4 * cache.MiByte
	openPacks   = 8
)

// Open opens a repository's data folder. go-git's own Open rejects extensions that do not matter to
// readers, such as sparse checkouts.
func Open(dir string) (*Store, error) {
	files := osfs.New(dir)
	data, err := os.ReadFile(filepath.Join(dir, "commondir"))
	if err != nil {
		_, err := os.Stat(filepath.Join(dir, "objects"))
		if errors.Is(err, fs.ErrNotExist) {
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

// Store is a repository's objects and references. Package pack reads mirrors: go-git rereads all
// indexes when a pack is added, 0.5 s for 500,000 objects.
type Store struct {
	*filesystem.Storage
	packs *pack.Set
	// FetchMissing fetches objects that a partial mirror lacks. If nil, missing objects mean
	// damage.
	FetchMissing func(kind pack.Kind, ids []tree.ID) error
	folders      recent.Map[tree.ID, Folder]
	folderBytes  int
	files        recent.Map[tree.ID, []byte]
	fileBytes    int
	references   map[plumbing.ReferenceName]plumbing.Hash
}

// OpenPacks restricts the store to the packs of the mirror in dir.
func (s *Store) OpenPacks(dir string) (err error) {
	s.packs, err = pack.Open(filepath.Join(dir, "objects", "pack"))
	return err
}

// ClonePacks returns a mirror's packs for concurrent reading. The caller must close them.
func (s *Store) ClonePacks() *pack.Set { return s.packs.Clone() }

// Refresh rereads the list of packs.
func (s *Store) Refresh() error {
	if s.packs != nil {
		_, err := s.packs.Refresh()
		return err
	}
	err := s.Storage.ObjectStorage.Close() // open packs may have been removed
	s.Reindex()
	return err
}

// Close closes the files; reading opens them again.
func (s *Store) Close() error {
	if s.packs != nil {
		return s.packs.Close()
	}
	return s.Storage.ObjectStorage.Close()
}

// refreshPacks reports whether another process changed the packs, so that a missing object may
// exist now.
func (s *Store) refreshPacks() bool {
	if s.packs == nil {
		return false
	}
	changed, err := s.packs.Refresh()
	return changed && err == nil
}

// ReadObject returns an object's content, which must not be modified. A partial mirror fetches it
// if missing. The error is plumbing.ErrObjectNotFound if it does not exist.
func (s *Store) ReadObject(kind pack.Kind, id tree.ID) ([]byte, error) {
	return s.ReadLimited(kind, id, math.MaxInt64)
}

// ReadLimited is ReadObject for at most limit bytes; the error is [pack.ErrLarge] for more.
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

// readPacked retries read after another process changed the packs, or after fetching a missing
// object of the kind fetch.
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
		_, _ = o.Write(data)
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

// EncodedObjectSize returns an object's size in bytes.
func (s *Store) EncodedObjectSize(id plumbing.Hash) (int64, error) {
	if s.packs == nil {
		size, err := s.Storage.EncodedObjectSize(id)
		if err == nil {
			return size, nil
		}
		o, err := s.Storage.EncodedObject(plumbing.AnyObject, id) // go-git ignores alternates here
		if err != nil {
			return 0, err
		}
		return o.Size(), nil
	}
	var size int64
	err := s.readPacked(tree.ID(id), func() (err error) {
		size, err = s.packs.Size(tree.ID(id))
		return err
	}, pack.Blob) // only sizes of files are read
	return size, err
}

// Missing returns the objects that the store lacks, without duplicates.
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

// PackfileWriter writes a fetched pack, which is visible after Refresh.
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

// ErrNoRepository means that the repository does not exist or must not be read.
var ErrNoRepository = errors.New("no such repository")

// FindDir returns the data folder of the repository at path: path itself, path/.git, or the folder
// named by the file path/.git.
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
	for _, part := range []string{"HEAD", "."} {
		if _, err := os.Stat(filepath.Join(path, part)); err != nil {
			return "", ErrNoRepository
		}
	}
	return path, nil
}

// InitMirror makes an empty mirror of a URL, atomically.
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
