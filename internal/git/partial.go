package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/objects"
	"github.com/fairlead-io/fairlead/internal/git/pack"
	"github.com/fairlead-io/fairlead/internal/git/partial"
	"github.com/fairlead-io/fairlead/internal/git/protocol"
)

// RequireWhole makes the next Sync complete a partial mirror, and keeps it whole. It reports
// whether anything is missing now.
func (m *Remote) RequireWhole() (lacks bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wantWhole = true
	return m.mirror != nil && m.mustFetchWhole()
}

func (m *Remote) mustFetchWhole() bool {
	if m.mirror == nil {
		return partial.ReadFilter(m.options.Dir) != partial.NoFilter && !m.mayBePartial()
	}
	filter, refused := m.mirror.fetchFilter()
	return filter != partial.NoFilter && (refused || !m.mayBePartial())
}

func (m *Remote) mayBePartial() bool { return m.options.Partial && !m.wantWhole }

func (r *Repository) fetchFilter() (filter string, refused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.filter, r.filterRefused
}

// configureFilter rereads references and filter, which another process may have changed.
func (m *Remote) configureFilter() {
	r := m.mirror
	r.mu.Lock()
	defer r.mu.Unlock()
	r.store.ForgetReferences()
	r.filter = partial.ReadFilter(m.options.Dir)
	if r.filter == partial.NoFilter {
		r.store.FetchMissing, r.filterRefused = nil, false
		return
	}
	r.store.FetchMissing = func(kind pack.Kind, ids []tree.ID) error { // callers hold the repository's lock
		ctx, cancel := m.options.NewContext(m.options.Timeout)
		defer cancel()
		err := m.fetchObjects(ctx, kind, r.filter, func() []tree.ID { return r.store.Missing(ids) }, func(in io.Reader) error {
			return r.finishStoring(pack.Receive(r.packDir(), in))
		})
		r.filterRefused = r.filterRefused || errors.Is(err, protocol.ErrUnsupported)
		return readError(err)
	}
}

func (r *Repository) packDir() string { return filepath.Join(r.mirror, "objects", "pack") }

// fetchUpdate makes the mirror whole if the server does not support its filter.
func (m *Remote) fetchUpdate(ctx context.Context, s session, theirs *packp.AdvRefs, u update) error {
	m.mirror.mu.Lock()
	haves, err := m.mirror.store.Haves()
	m.mirror.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	filter, _ := m.mirror.fetchFilter()
	filters := theirs.Capabilities.Supports("filter") && strings.HasPrefix(m.options.URL, "http")
	switch {
	case m.mustFetchWhole(), filter != partial.NoFilter && !filters:
		return m.fetchWhole(ctx, s, theirs, u)
	case filter != partial.NoFilter && len(u.want) > 0:
		err := m.fetchFiltered(ctx, filter, u, haves)
		if errors.Is(err, protocol.ErrUnsupported) {
			return m.fetchWhole(ctx, s, theirs, u)
		}
		return err
	case filter == partial.NoFilter && m.mayBePartial() && m.mirror.isEmpty():
		for _, ref := range u.set { // an interrupted fetch may have left commits without files
			u.want = append(u.want, ref.Hash())
		}
		u.want = partial.UniqueHashes(u.want)
		if done, err := m.fetchPartially(ctx, u, filters); done || err != nil {
			return err
		}
	}
	if len(u.want) == 0 {
		return nil
	}
	return m.mirror.receivePack(ctx, s, u.want, haves)
}

func (r *Repository) isEmpty() bool {
	refs, err := r.Refs("refs/")
	return err == nil && len(refs) == 0
}

// fetchPartially tries the first fetch with each filter. The mirror is marked as partial before,
// and as whole if it fails. Half of the time limit remains for a whole fetch.
func (m *Remote) fetchPartially(ctx context.Context, u update, filters bool) (done bool, err error) {
	if !filters || len(u.want) == 0 {
		return false, nil
	}
	limited, cancel := context.WithTimeout(ctx, m.options.Timeout/2)
	defer cancel()
	for _, filter := range []string{partial.NoTrees, partial.NoBlobs} {
		if err := m.setFilter(filter); err != nil {
			return false, err
		}
		failed := m.fetchFiltered(limited, filter, u, nil)
		if failed == nil {
			return true, nil
		}
		if err := m.setFilter(partial.NoFilter); err != nil {
			return false, err
		}
		var busy *BusyError
		if err := classifyError(failed); ctx.Err() != nil || errors.As(err, &busy) || errors.Is(err, errDisk) {
			return false, failed
		}
	}
	return false, nil
}

func (m *Remote) setFilter(filter string) error {
	if err := partial.WriteFilter(m.options.Dir, filter); err != nil {
		return fmt.Errorf("%w: %w", errDisk, err)
	}
	m.configureFilter()
	if m.options.OnFilter != nil {
		m.options.OnFilter(filter)
	}
	return nil
}

func (m *Remote) fetchWhole(ctx context.Context, s session, theirs *packp.AdvRefs, u update) error {
	wants := slices.Clone(u.want)
	for name, id := range theirs.References {
		if isMirrored(name) {
			wants = append(wants, id)
		}
	}
	wants = partial.UniqueHashes(wants)
	if len(wants) > 0 {
		if err := m.mirror.receivePack(ctx, s, wants, nil); err != nil {
			m.mirror.mu.Lock()
			defer m.mirror.mu.Unlock()
			m.mirror.filterRefused = false // the refusal may have been temporary
			return err
		}
	}
	return m.setFilter(partial.NoFilter)
}

// fetchFiltered fetches refs/fairlead/ whole: these documents are small and always read.
func (m *Remote) fetchFiltered(ctx context.Context, filter string, u update, haves []plumbing.Hash) error {
	documents := map[plumbing.Hash]bool{}
	for _, ref := range u.set {
		if strings.HasPrefix(ref.Name().String(), "refs/fairlead/") {
			documents[ref.Hash()] = true
		}
	}
	take := m.mirror.storeSmallPack
	if filter == partial.NoBlobs {
		take = m.mirror.storePack
	}
	return partial.Fetcher(m.fetchPack).FetchCommits(ctx, protocol.FetchRequest{Wants: u.want, Haves: haves, Filter: filter}, func(id plumbing.Hash) bool { return documents[id] }, take)
}

func (m *Remote) fetchPack(ctx context.Context, w protocol.FetchRequest, take func(io.Reader) error) error {
	endpoint, auth, err := m.resolveEndpoint(ctx)
	if err != nil {
		return err
	}
	if !isHTTP(endpoint) {
		return protocol.ErrUnsupported
	}
	err = m.protocolServer(endpoint, auth).Fetch(ctx, w, take)
	if err != nil && m.options.Guard {
		return m.redactError(err) // exchange does not redact errors of readers
	}
	return err
}

func (m *Remote) fetchObjects(ctx context.Context, kind pack.Kind, filter string, lacks func() []tree.ID, take func(io.Reader) error) error {
	started := time.Now()
	err := partial.Fetcher(m.fetchPack).FetchObjects(ctx, kind, filter, lacks, take)
	m.observeExchange("fetch", started, err)
	return err
}

// The caller of fetchFiles holds the lock.
func (r *Repository) fetchFiles(f objects.Folder) error {
	if r.store.FetchMissing == nil {
		return nil
	}
	var files []tree.ID
	for _, e := range f.Entries(nil) {
		if !e.IsDir() && e.Mode != tree.ModeSubmodule {
			files = append(files, e.ID)
		}
	}
	files = r.store.Missing(files)
	if len(files) == 0 {
		return nil
	}
	return r.prefetchError(r.store.FetchMissing(pack.Blob, files))
}

// readError converts an error of fetching for readers: an object that the server lacks is lost,
// other errors may be temporary.
func readError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, plumbing.ErrObjectNotFound):
		return err
	case errors.Is(err, protocol.ErrMissingObject):
		return fmt.Errorf("%w: %w", plumbing.ErrObjectNotFound, err)
	}
	return fmt.Errorf("fetch what is not in the mirror: %w", classifyError(err))
}

// Prefetch fetches the objects that t has and with lacks, for depth levels of folders (0 for all).
// It saves a later comparison one request per object.
func (m *Remote) Prefetch(ctx context.Context, t, with tree.Tree, depth int) error {
	r := m.Mirror()
	if r == nil || t.IsEmpty() {
		return nil
	}
	filter, _ := r.fetchFilter()
	if filter == partial.NoFilter {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, m.options.Timeout)
	defer cancel()
	lacks := func(ids []tree.ID) []tree.ID {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.store.Missing(ids)
	}
	bring := func(kind pack.Kind, ids []tree.ID) error {
		err := m.fetchObjects(ctx, kind, filter, func() []tree.ID { return lacks(ids) }, r.storeSmallPack)
		if errors.Is(err, protocol.ErrUnsupported) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.filterRefused = true
		}
		return err
	}
	w := partial.Prefetcher{
		Missing: lacks, FetchObjects: bring, Depth: depth,
		ReadFolder: func(id tree.ID) (objects.Folder, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.readFolder(id)
		},
		FetchFolders: func(folders []tree.ID) error {
			return partial.Fetcher(m.fetchPack).FetchFolders(ctx, folders, r.storePack)
		},
	}
	if err := r.prefetchError(w.PrefetchFolders(partial.ChangedFolders(t, with))); err != nil {
		return fmt.Errorf("read %s: %w", m.shown, err)
	}
	return nil
}

func (r *Repository) prefetchError(err error) error {
	var refused *objects.InvalidTreeError
	err = readError(err)
	switch {
	case errors.As(err, &refused):
		return nil
	case errors.Is(err, plumbing.ErrObjectNotFound):
		return r.markDamaged(err)
	}
	return err
}

const prefetchCommits = 32

// prefetchFile fetches a file and its folders for many commits together, to save requests.
func (r *Repository) prefetchFile(commit, file string) error {
	if filter, _ := r.fetchFilter(); filter == partial.NoFilter {
		return nil
	}
	line, err := r.FirstParents(commit, prefetchCommits+1, func(string) bool { return false })
	if err != nil {
		return err
	}
	var roots []partial.FolderPair
	for _, id := range line {
		info, err := r.Commit(id)
		if err != nil {
			return err
		}
		roots = append(roots, partial.FolderPair{Folder: tree.ID(plumbing.NewHash(info.Tree))})
	}
	names := strings.Split(file, "/")
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.store.FetchMissing == nil {
		return nil
	}
	w := partial.Prefetcher{
		Missing: r.store.Missing, FetchObjects: r.store.FetchMissing, Depth: len(names),
		ReadFolder:   r.readFolder,
		FetchFolders: func([]tree.ID) error { return nil },
		Include:      func(depth int, name string) bool { return name == names[depth] },
	}
	return r.prefetchError(w.PrefetchFolders(roots))
}
