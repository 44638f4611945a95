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

// KeepWhole makes the next Sync fetch everything that a partial mirror lacks, and keeps the
// mirror whole from then on. It reports whether the mirror lacks anything now.
func (m *Remote) KeepWhole() (lacks bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wantWhole = true
	return m.mirror != nil && m.becomesWhole()
}

// becomesWhole reports whether the mirror must be fetched again with everything that it lacks.
func (m *Remote) becomesWhole() bool {
	if m.mirror == nil {
		return partial.Filter(m.options.Dir) != partial.Whole && !m.mayLack()
	}
	filter, refused := m.mirror.filtered()
	return filter != partial.Whole && (refused || !m.mayLack())
}

func (m *Remote) mayLack() bool { return m.options.Partial && !m.wantWhole }

// filtered returns the filter of a mirror, and whether the server no longer accepts it.
func (r *Repository) filtered() (filter string, refused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.filter, r.refused
}

// equip reads the filter of the mirror, which another process may have changed, and makes the
// mirror fetch what it lacks when that is read.
func (m *Remote) equip() { m.mirror.setFilter(partial.Filter(m.options.Dir), m.supply(m.mirror)) }

func (r *Repository) setFilter(filter string, bring func(pack.Kind, []tree.ID) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.filter, r.store.Bring = filter, bring
	if filter == partial.Whole {
		r.store.Bring, r.refused = nil, false
	}
}

// promise marks the packs of a partial mirror.
func (r *Repository) promise() error {
	if filter, _ := r.filtered(); filter != partial.Whole {
		return partial.Promise(r.packDir())
	}
	return nil
}

func (r *Repository) packDir() string { return filepath.Join(r.mirror, "objects", "pack") }

// fetch fetches the objects of an update, with the mirror's filter if the server accepts it. If
// the server refuses filters, the mirror becomes whole.
func (m *Remote) fetch(ctx context.Context, s session, theirs *packp.AdvRefs, u update) error {
	haves, err := m.mirror.haves()
	if err != nil {
		return err
	}
	filter, _ := m.mirror.filtered()
	filters := theirs.Capabilities.Supports("filter") && strings.HasPrefix(m.options.URL, "http")
	switch {
	case m.becomesWhole(), filter != partial.Whole && !filters:
		return m.complete(ctx, s, theirs, u)
	case filter != partial.Whole && len(u.want) > 0:
		err := m.fetchFiltered(ctx, filter, u, haves)
		if errors.Is(err, protocol.ErrUnsupported) {
			return m.complete(ctx, s, theirs, u)
		}
		return err
	case filter == partial.Whole && m.mayLack() && m.mirror.isEmpty():
		for _, ref := range u.set { // a first fetch that was interrupted may have left commits without their files
			u.want = append(u.want, ref.Hash())
		}
		u.want = partial.Distinct(u.want)
		if done, err := m.begin(ctx, u, filters); done || err != nil {
			return err
		}
	}
	if len(u.want) == 0 {
		return nil
	}
	return m.mirror.receive(ctx, s, u.want, haves)
}

func (r *Repository) isEmpty() bool {
	refs, err := r.Refs("refs/")
	return err == nil && len(refs) == 0
}

// begin tries the first fetch of a mirror with filters, and reports whether one succeeded. It
// marks the mirror as partial before the fetch, and as whole again if the fetch fails. Half of
// the time is left for a fetch without a filter, which works or has the better error.
func (m *Remote) begin(ctx context.Context, u update, filters bool) (done bool, err error) {
	if !filters || len(u.want) == 0 {
		return false, nil
	}
	limited, cancel := context.WithTimeout(ctx, m.options.Timeout/2)
	defer cancel()
	for _, filter := range []string{partial.Commits, partial.Folders} {
		if err := m.mark(filter); err != nil {
			return false, err
		}
		failed := m.fetchFiltered(limited, filter, u, nil)
		if failed == nil {
			return true, nil
		}
		if err := m.mark(partial.Whole); err != nil {
			return false, err
		}
		var busy *Busy
		if err := classify(failed); ctx.Err() != nil || errors.As(err, &busy) || errors.Is(err, errDisk) {
			return false, failed
		}
	}
	return false, nil
}

// mark sets the filter that the mirror is fetched with from now on.
func (m *Remote) mark(filter string) error {
	if err := partial.Mark(m.options.Dir, filter); err != nil {
		return fmt.Errorf("%w: %w", errDisk, err)
	}
	m.equip()
	if m.options.Filtered != nil {
		m.options.Filtered(filter)
	}
	return nil
}

// complete fetches everything that is reachable, so that the mirror is whole.
func (m *Remote) complete(ctx context.Context, s session, theirs *packp.AdvRefs, u update) error {
	wants := slices.Clone(u.want)
	for name, id := range theirs.References {
		if isMirrored(name) {
			wants = append(wants, id)
		}
	}
	wants = partial.Distinct(wants)
	if len(wants) > 0 {
		if err := m.mirror.receive(ctx, s, wants, nil); err != nil {
			m.mirror.reconsider()
			return err
		}
	}
	return m.mark(partial.Whole)
}

// reconsider makes the next fetch use the filter again: the refusal may have been temporary,
// and fetching everything failed.
func (r *Repository) reconsider() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = false
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
	take := m.mirror.take
	if filter == partial.Folders { // there are many
		take = m.mirror.ingest
	}
	return partial.Asker(m.ask).Commits(ctx, protocol.Wanted{Wants: u.want, Haves: haves, Filter: filter}, func(id plumbing.Hash) bool { return documents[id] }, take)
}

// ask requests objects from the server and calls take with the pack that it sends.
func (m *Remote) ask(ctx context.Context, w protocol.Wanted, take func(io.Reader) error) error {
	endpoint, auth, err := m.endpoint(ctx)
	if err != nil {
		return err
	}
	if !isHTTP(endpoint) {
		return protocol.ErrUnsupported
	}
	err = m.server(endpoint, auth).Fetch(ctx, w, take)
	if err != nil && m.options.Guard {
		return m.classified(err) // readers of files see it, and exchange does not redact it
	}
	return err
}

// objects fetches the objects that lacks returns.
func (m *Remote) objects(ctx context.Context, kind pack.Kind, filter string, lacks func() []tree.ID, take func(io.Reader) error) error {
	started := time.Now()
	err := partial.Asker(m.ask).Objects(ctx, kind, filter, lacks, take)
	m.observe("fetch", started, err)
	return err
}

// supply returns the function that fetches objects which the mirror lacks when they are read.
// The callers of that function hold the lock of the repository.
func (m *Remote) supply(r *Repository) func(pack.Kind, []tree.ID) error {
	return func(kind pack.Kind, ids []tree.ID) error {
		ctx, cancel := m.options.Within(m.options.Timeout)
		defer cancel()
		err := m.objects(ctx, kind, r.filter, func() []tree.ID { return r.store.Lacks(ids) }, r.add)
		r.refused = r.refused || errors.Is(err, protocol.ErrUnsupported)
		return supplied(err)
	}
}

// bringFiles fetches the missing files of a folder in one request. Its caller holds the lock.
func (r *Repository) bringFiles(f objects.Folder) error {
	if r.store.Bring == nil {
		return nil
	}
	var files []tree.ID
	for _, e := range f.Entries(nil) {
		if !e.IsDir() && e.Mode != tree.ModeSubmodule {
			files = append(files, e.ID)
		}
	}
	files = r.store.Lacks(files)
	if len(files) == 0 {
		return nil
	}
	return r.walked(r.store.Bring(pack.Blob, files))
}

// supplied returns an error of fetching objects as their reader sees it: an object that the
// server lacks is lost; any other error may be temporary.
func supplied(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, plumbing.ErrObjectNotFound):
		return err
	case errors.Is(err, protocol.ErrGone):
		return fmt.Errorf("%w: %w", plumbing.ErrObjectNotFound, err)
	}
	return fmt.Errorf("fetch what is not in the mirror: %w", classify(err))
}

// Prefetch fetches the objects of t that a partial mirror lacks and that differ from with, down
// to depth levels of folders, or 0 for all. A caller that will compare the two saves a request
// for each object. Reading with needs no fetch.
func (m *Remote) Prefetch(ctx context.Context, t, with tree.Tree, depth int) error {
	r := m.Mirror()
	if r == nil || t.IsEmpty() {
		return nil
	}
	filter, _ := r.filtered()
	if filter == partial.Whole {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, m.options.Timeout)
	defer cancel()
	lacks := func(ids []tree.ID) []tree.ID {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.store.Lacks(ids)
	}
	bring := func(kind pack.Kind, ids []tree.ID) error {
		err := m.objects(ctx, kind, filter, func() []tree.ID { return lacks(ids) }, r.take)
		if errors.Is(err, protocol.ErrUnsupported) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.refused = true
		}
		return err
	}
	w := partial.Walk{
		Lacks: lacks, Bring: bring, Depth: depth,
		Folder: func(id tree.ID) (objects.Folder, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.folder(id)
		},
		All: func(folders []tree.ID) error { return partial.Asker(m.ask).Whole(ctx, folders, r.ingest) },
	}
	if err := r.walked(w.Do(partial.Differing(t, with))); err != nil {
		return fmt.Errorf("read %s: %w", m.shown, err)
	}
	return nil
}

// walked returns an error of prefetching as its caller sees it. An invalid tree is no error here:
// its reader reports it.
func (r *Repository) walked(err error) error {
	var refused *objects.Refused
	err = supplied(err)
	switch {
	case errors.As(err, &refused):
		return nil
	case errors.Is(err, plumbing.ErrObjectNotFound):
		return r.broken(err)
	}
	return err
}

// aheadBy is the number of commits whose objects a partial mirror fetches together.
const aheadBy = 32

// readAhead fetches the folders on the path of a file, and the file, in a commit and its
// ancestors by first parents together: one after the other, each would take several requests.
func (r *Repository) readAhead(commit, file string) error {
	if filter, _ := r.filtered(); filter == partial.Whole {
		return nil
	}
	line, err := r.FirstParents(commit, aheadBy+1, func(string) bool { return false })
	if err != nil {
		return err
	}
	var roots []partial.Pair
	for _, id := range line {
		info, err := r.Commit(id)
		if err != nil {
			return err
		}
		roots = append(roots, partial.Pair{Folder: tree.ID(plumbing.NewHash(info.Tree))})
	}
	names := strings.Split(file, "/")
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.store.Bring == nil { // it has become whole meanwhile
		return nil
	}
	w := partial.Walk{
		Lacks: r.store.Lacks, Bring: r.store.Bring, Depth: len(names),
		Folder: r.folder,
		All:    func([]tree.ID) error { return nil }, // readers fetch each
		Enter:  func(depth int, name string) bool { return name == names[depth] },
	}
	return r.walked(w.Do(roots))
}
