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

// RequireWhole makes the next Sync fetch everything that a partial mirror lacks, and keeps the
// mirror whole from then on. It reports whether the mirror lacks anything now.
func (m *Remote) RequireWhole() (lacks bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wantWhole = true
	return m.mirror != nil && m.mustFetchWhole()
}

// mustFetchWhole reports whether the mirror must be fetched again with everything that it lacks.
func (m *Remote) mustFetchWhole() bool {
	if m.mirror == nil {
		return partial.ReadFilter(m.options.Dir) != partial.NoFilter && !m.mayBePartial()
	}
	filter, refused := m.mirror.fetchFilter()
	return filter != partial.NoFilter && (refused || !m.mayBePartial())
}

func (m *Remote) mayBePartial() bool { return m.options.Partial && !m.wantWhole }

// fetchFilter returns the filter of a mirror, and whether the server no longer accepts it.
func (r *Repository) fetchFilter() (filter string, refused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.filter, r.filterRefused
}

// configureFilter has the references and the filter of the mirror, which another process may have
// changed, be read again, and makes the mirror fetch what it lacks when that is read.
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
	r.store.FetchMissing = func(kind pack.Kind, ids []tree.ID) error { // its callers hold the lock of the repository
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

// fetchUpdate fetches the objects of an update, with the mirror's filter if the server accepts it. If
// the server refuses filters, the mirror becomes whole.
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
		for _, ref := range u.set { // a first fetch that was interrupted may have left commits without their files
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

// fetchPartially tries the first fetch of a mirror with filters, and reports whether one succeeded. It
// marks the mirror as partial before the fetch, and as whole again if the fetch fails. Half of
// the time is left for a fetch without a filter, which works or has the better error.
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

// setFilter sets the filter that the mirror is fetched with from now on.
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

// fetchWhole fetches everything that is reachable, so that the mirror is whole.
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
			m.mirror.filterRefused = false // fetching everything failed, and the refusal may have been temporary
			return err
		}
	}
	return m.setFilter(partial.NoFilter)
}

// fetchFiltered fetches the commits of an update with a filter. References that hold Fairlead's
// documents, which are small and always read, are fetched whole.
func (m *Remote) fetchFiltered(ctx context.Context, filter string, u update, haves []plumbing.Hash) error {
	documents := map[plumbing.Hash]bool{}
	for _, ref := range u.set {
		if strings.HasPrefix(ref.Name().String(), "refs/fairlead/") {
			documents[ref.Hash()] = true
		}
	}
	take := m.mirror.storeSmallPack
	if filter == partial.NoBlobs { // there are many
		take = m.mirror.storePack
	}
	return partial.Fetcher(m.fetchPack).FetchCommits(ctx, protocol.FetchRequest{Wants: u.want, Haves: haves, Filter: filter}, func(id plumbing.Hash) bool { return documents[id] }, take)
}

// fetchPack requests objects from the server and calls take with the pack that it sends.
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
		return m.redactError(err) // readers of files see it, and exchange does not redact it
	}
	return err
}

func (m *Remote) fetchObjects(ctx context.Context, kind pack.Kind, filter string, lacks func() []tree.ID, take func(io.Reader) error) error {
	started := time.Now()
	err := partial.Fetcher(m.fetchPack).FetchObjects(ctx, kind, filter, lacks, take)
	m.observeExchange("fetch", started, err)
	return err
}

// fetchFiles fetches the missing files of a folder in one request. Its caller holds the lock.
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

// readError returns an error of fetching objects as their reader sees it: an object that the
// server lacks is lost; any other error may be temporary.
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

// Prefetch fetches the objects of t that a partial mirror lacks and that differ from with, down
// to depth levels of folders, or 0 for all. A caller that will compare the two saves a request
// for each object. Reading with needs no fetch.
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

// prefetchError returns an error of prefetching as its caller sees it. An invalid tree is no error here:
// its reader reports it.
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

// prefetchCommits is the number of commits whose objects a partial mirror fetches together.
const prefetchCommits = 32

// prefetchFile fetches the folders on the path of a file, and the file, in a commit and its
// ancestors by first parents together: one after the other, each would take several requests.
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
	if r.store.FetchMissing == nil { // it has become whole meanwhile
		return nil
	}
	w := partial.Prefetcher{
		Missing: r.store.Missing, FetchObjects: r.store.FetchMissing, Depth: len(names),
		ReadFolder:   r.readFolder,
		FetchFolders: func([]tree.ID) error { return nil }, // readers fetch each
		Include:      func(depth int, name string) bool { return name == names[depth] },
	}
	return r.prefetchError(w.PrefetchFolders(roots))
}
