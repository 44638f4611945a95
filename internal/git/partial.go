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

// KeepWhole has the mirror have all that its commits lead to from the next Sync on, and
// reports whether it has not yet.
func (m *Remote) KeepWhole() (lacks bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wantWhole = true
	return m.mirror != nil && m.becomesWhole()
}

// becomesWhole reports whether the mirror is to be fetched again, with all that it lacks.
func (m *Remote) becomesWhole() bool {
	if m.mirror == nil {
		return partial.Filter(m.options.Dir) != partial.Whole && !m.mayLack()
	}
	filter, refused := m.mirror.filtered()
	return filter != partial.Whole && (refused || !m.mayLack())
}

func (m *Remote) mayLack() bool { return m.options.Partial && !m.wantWhole }

// filtered returns the filter of a mirror, and whether the server takes it no more.
func (r *Repository) filtered() (filter string, refused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.filter, r.refused
}

// equip reads which filter the mirror is fetched with, which another process may have
// changed, and has what it lacks be fetched when it is read.
func (m *Remote) equip() { m.mirror.setFilter(partial.Filter(m.options.Dir), m.supply(m.mirror)) }

func (r *Repository) setFilter(filter string, bring func(pack.Kind, []tree.ID) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.filter, r.store.Bring = filter, bring
	if filter == partial.Whole {
		r.store.Bring, r.refused = nil, false
	}
}

// promise marks the packs of a mirror that does not have all.
func (r *Repository) promise() error {
	if filter, _ := r.filtered(); filter != partial.Whole {
		return partial.Promise(r.packDir())
	}
	return nil
}

func (r *Repository) packDir() string { return filepath.Join(r.mirror, "objects", "pack") }

// fetch brings what an update needs: as little of it as the remote may lack and its server
// lets us leave there. Everything that is refused ends with a mirror that has all.
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
		for _, ref := range u.set { // a first fetch that ended early may have left commits, and no more
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

// begin is the first fetch of a mirror that may lack something, if the server lets us. The
// mirror says so before it lacks anything, and takes it back if it gets nothing. Half of
// the time is left for asking in the usual way, which works or says better what is wrong.
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

// mark has the mirror be fetched with a filter from now on.
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

// complete fetches everything, so that the mirror lacks nothing.
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

// reconsider has the server be asked for less than everything the next time: what it
// refused may have been a mishap, and everything may be too much.
func (r *Repository) reconsider() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = false
}

// fetchFiltered fetches commits of an update without what a filter leaves out, and the
// references that we keep documents in, which are small and are all read, with all.
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

// ask has a server send objects.
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
		return m.classified(err) // who reads a file sees it, without an exchange in between
	}
	return err
}

// objects fetches what is lacking.
func (m *Remote) objects(ctx context.Context, kind pack.Kind, filter string, lacks func() []tree.ID, take func(io.Reader) error) error {
	started := time.Now()
	err := partial.Asker(m.ask).Objects(ctx, kind, filter, lacks, take)
	m.observe("fetch", started, err)
	return err
}

// supply returns what fetches objects of a mirror that are read and not there. Its caller
// has the lock of the repository.
func (m *Remote) supply(r *Repository) func(pack.Kind, []tree.ID) error {
	return func(kind pack.Kind, ids []tree.ID) error {
		ctx, cancel := m.options.Within(m.options.Timeout)
		defer cancel()
		err := m.objects(ctx, kind, r.filter, func() []tree.ID { return r.store.Lacks(ids) }, r.add)
		r.refused = r.refused || errors.Is(err, protocol.ErrUnsupported)
		return supplied(err)
	}
}

// bringFiles fetches the files in a folder that are not there, in one request. Its caller
// has the lock.
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

// supplied says what an error of fetching objects means for their reader: what the server
// does not have is lost, and all else may be better next time.
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

// Prefetch brings what a mirror that does not have all lacks of a tree, in the places where
// it differs from another one, of so many levels of folders in it, or 0 for all. It is for
// who will compare the two, and saves a request for each object. The other tree is at hand.
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

// walked says what an error of bringing objects ahead means. What is refused is for who
// reads it to say.
func (r *Repository) walked(err error) error {
	var refused *objects.Refused
	switch err = supplied(err); {
	case errors.As(err, &refused):
		return nil
	case errors.Is(err, plumbing.ErrObjectNotFound):
		return r.broken(err)
	}
	return err
}

// aheadBy is how many commits are looked at together where not all is there.
const aheadBy = 32

// readAhead brings what a file is found by in a commit and those before it by first
// parents, and the file: one after the other, each would be a few requests.
func (r *Repository) readAhead(commit, file string) error {
	if filter, _ := r.filtered(); filter == partial.Whole {
		return nil
	}
	line, err := r.FirstParents(commit, aheadBy+1, func(string) bool { return false })
	if err != nil {
		return err
	}
	var roots []partial.Pair
	for _, at := range line {
		info, err := r.Commit(at)
		if err != nil {
			return err
		}
		roots = append(roots, partial.Pair{Folder: tree.ID(plumbing.NewHash(info.Tree))})
	}
	names := strings.Split(file, "/")
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.store.Bring == nil { // it has all by now
		return nil
	}
	w := partial.Walk{
		Lacks: r.store.Lacks, Bring: r.store.Bring, Depth: len(names),
		Folder: r.folder,
		All:    func([]tree.ID) error { return nil }, // reading asks for each
		Enter:  func(depth int, name string) bool { return name == names[depth] },
	}
	return r.walked(w.Do(roots))
}
