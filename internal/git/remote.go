package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/git/lock"
	"github.com/fairlead-io/fairlead/internal/git/objects"
	"github.com/fairlead-io/fairlead/internal/git/protocol"
)

// RemoteOptions describe a remote and how to reach it.
type RemoteOptions struct {
	URL string // of http, https, ssh, file, user@host:path, or a path
	Dir string // the mirror's folder; it is made
	// Credentials is called before each connection; nil for anonymous access.
	Credentials func(context.Context) (Credentials, error)
	// Timeout bounds one fetch or push, Stall a wait for the next byte of an answer; 0 is two
	// minutes and half a minute.
	Timeout, Stall time.Duration
	// NarrowPoll polls a server over HTTP only for the references in use, by version 2 of Git's
	// protocol if the server speaks it: always for branches, and for tags once
	// [Repository.Resolve] or [Repository.Refs] looked for one.
	NarrowPoll bool
	// Partial makes a partial mirror over HTTP if the server supports filters: folders and the
	// content of files are fetched when they are read. Other mirrors are or become whole.
	Partial bool
	// Guard refuses addresses of this machine and of the platform that it runs on, and keeps
	// the server's answers out of errors: for URLs that the operator did not name.
	Guard bool
	// IsTrusted reports whether the operator named the server of a URL, so that a redirect may lead
	// to it at any address; nil trusts only the server of an unguarded remote itself.
	IsTrusted func(url string) bool
	// OnFilter, unless nil, is called with the filter of the mirror whenever it changes:
	// "tree:0", "blob:none", or "" for a whole mirror.
	OnFilter func(filter string)
	// NewContext returns the context of a fetch that reading starts, with a time limit; nil uses
	// the background context.
	NewContext func(limit time.Duration) (context.Context, context.CancelFunc)
	// Rehearse, unless nil, is called instead of a push: nothing is sent, and the mirror stays as
	// it is.
	Rehearse func(Rehearsal)
	// OnExchange, unless nil, is called before each exchange, "fetch" or "push to", with the URL as people
	// may see it; what it returns is called after it.
	OnExchange func(op, url string) (end func())
	// Observe, unless nil, is called after each exchange: "poll" (nothing had moved), "fetch"
	// or "push", with its duration and error.
	Observe func(op string, took time.Duration, err error)
}

const (
	defaultTimeout = 2 * time.Minute
	defaultStall   = 30 * time.Second
)

// Remote is a remote repository and its bare mirror here. It is safe for concurrent use. One
// process at a time fetches into the mirror, except for missing objects that are read: a pack
// that arrives twice does no harm.
type Remote struct {
	options RemoteOptions
	shown   string // the URL, without a password

	writing sync.Mutex // one pack at a time: each uses all processors
	key     sshKey

	mu        sync.Mutex // one exchange with the remote at a time
	mirror    *Repository
	proposals string
	// wantProposals is set once Others was called, wantTags once a tag was looked for, and
	// notBrief once the server did not speak version 2 of Git's protocol.
	wantProposals, wantTags, noProtocolV2 bool
	// wantWhole overrides options.Partial.
	wantWhole bool
}

// NewRemote makes a Remote; nothing is read yet.
func NewRemote(o RemoteOptions) (*Remote, error) {
	m := &Remote{options: o, shown: giturl.Redact(o.URL)}
	if o.URL == "" || strings.HasPrefix(o.URL, "-") {
		return nil, fmt.Errorf("%q cannot be the URL of a repository", m.shown)
	}
	var inURL Credentials
	m.options.URL, inURL = withoutUser(o.URL)
	if inURL.Secret != "" {
		m.options.Credentials = func(context.Context) (Credentials, error) { return inURL, nil }
	}
	if m.options.Timeout == 0 {
		m.options.Timeout = defaultTimeout
	}
	if m.options.NewContext == nil {
		m.options.NewContext = func(limit time.Duration) (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), limit)
		}
	}
	if m.options.Stall == 0 {
		m.options.Stall = defaultStall
	}
	return m, nil
}

// URL returns the remote's URL, without a password.
func (m *Remote) URL() string { return m.shown }

// Mirror returns the mirror, as the last Sync or Push left it; nil if there is none.
func (m *Remote) Mirror() *Repository {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mirror == nil {
		if r, err := openMirror(m.options.Dir, m.shown); err == nil {
			m.mirror = r
			m.configureFilter()
		}
	}
	return m.mirror
}

// ProposalDigest returns a hash of the references at the last Sync that forges keep the heads of pull
// requests in, which the mirror does not have: it changes if one of them moves. Polls include
// these references only once Others was called, if the server supports narrow polls.
func (m *Remote) ProposalDigest() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wantProposals = true
	return m.proposals
}

// Sync polls the remote's references, fetches if one differs from the mirror's, and reports
// whether any moved. It makes a damaged mirror anew.
func (m *Remote) Sync(ctx context.Context) (moved bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	started := time.Now()
	err = m.runExchange(ctx, "fetch", func(ctx context.Context) error {
		moved, err = m.syncMirror(ctx)
		if !errors.Is(err, ErrDamaged) {
			return err
		}
		if err := m.removeMirror(); err != nil {
			return err
		}
		moved, err = m.syncMirror(ctx)
		return err
	})
	op := "poll"
	if moved {
		op = "fetch"
	}
	m.observeExchange(op, started, err)
	return moved, err
}

func (m *Remote) observeExchange(op string, started time.Time, err error) {
	if m.options.Observe != nil {
		m.options.Observe(op, time.Since(started), err)
	}
}

// runExchange calls do with the mirror locked and within the time limit, and classifies its error.
func (m *Remote) runExchange(ctx context.Context, what string, do func(context.Context) error) error {
	if err := os.MkdirAll(filepath.Dir(m.options.Dir), 0o700); err != nil {
		return err
	}
	if m.options.OnExchange != nil {
		defer m.options.OnExchange(what, m.shown)()
	}
	unlock, err := lock.Acquire(ctx, m.options.Dir+".lock")
	if err != nil {
		return fmt.Errorf("lock the mirror of %s: %w", m.shown, err)
	}
	defer unlock()
	limited, cancel := context.WithTimeoutCause(ctx, m.options.Timeout, errTimeout)
	defer cancel()
	if err := do(limited); err != nil {
		if cause := context.Cause(limited); ctx.Err() == nil && cause != nil {
			err = fmt.Errorf("%w after %s", cause, m.options.Timeout)
		}
		return fmt.Errorf("%s %s: %w", what, m.shown, m.redactError(err))
	}
	return nil
}

var errTimeout = errors.New("it took too long")

func (m *Remote) removeMirror() error {
	if m.mirror != nil {
		_ = m.mirror.close() // what cannot be read may also not be closed
	}
	m.mirror = nil
	// A mirror that is renamed first is never there in part.
	trash := m.options.Dir + ".old"
	if err := os.RemoveAll(trash); err != nil {
		return err
	}
	if err := os.Rename(m.options.Dir, trash); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(trash)
}

// syncMirror polls the remote, fetches if a reference differs, and reports whether any moved.
func (m *Remote) syncMirror(ctx context.Context) (moved bool, err error) {
	if quiet, err := m.isUnchanged(ctx); err != nil || quiet {
		return false, err
	}
	session, err := m.openSession(ctx, transport.UploadPackServiceName)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	theirs, err := session.references(ctx)
	if err != nil {
		return false, err
	}
	if err := m.ensureMirror(); err != nil {
		return false, err
	}
	m.proposals = protocol.DigestReferences(theirs, proposalPrefixes)
	plan, err := m.mirror.planUpdate(theirs, mirroredPrefixes)
	if err != nil {
		return false, err
	}
	if err := m.fetchUpdate(ctx, session, theirs, plan); err != nil || plan.isEmpty() {
		return false, err
	}
	return true, m.mirror.applyUpdate(plan)
}

// Fetch fetches commits that no branch or tag contains, such as those of pull requests. The
// mirror keeps them until all of its packs are merged. The error is ErrNoRevision if the remote
// does not send one of them.
func (m *Remote) Fetch(ctx context.Context, commits ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runExchange(ctx, "fetch", func(ctx context.Context) (err error) {
		if err := m.ensureMirror(); err != nil {
			return err
		}
		plan := m.mirror.missingCommits(commits)
		if len(plan.want) == 0 {
			return nil
		}
		session, err := m.openSession(ctx, transport.UploadPackServiceName)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, session.Close()) }()
		theirs, err := session.references(ctx)
		if err != nil {
			return err
		}
		if err := m.fetchUpdate(ctx, session, theirs, plan); err != nil {
			return err
		}
		if left := m.mirror.missingCommits(commits); len(left.want) > 0 {
			return fmt.Errorf("%s: %w", left.want[0], ErrNoRevision)
		}
		return nil
	})
}

// missingCommits returns an update that wants the commits that the repository lacks.
func (r *Repository) missingCommits(commits []string) update {
	r.mu.Lock()
	defer r.mu.Unlock()
	var u update
	for _, c := range commits {
		if id := plumbing.NewHash(c); r.store.HasEncodedObject(id) != nil {
			u.want = append(u.want, id)
		}
	}
	return u
}

// ensureMirror opens the mirror, or makes an empty one. The error is ErrDamaged if it must be made anew.
func (m *Remote) ensureMirror() error {
	if m.mirror != nil {
		if !m.hasHead() || m.mirror.damaged.Load() {
			return ErrDamaged
		}
		m.configureFilter()
		return nil
	}
	if _, err := os.Stat(filepath.Join(m.options.Dir, damagedFile)); err == nil {
		return ErrDamaged
	}
	if _, err := os.Stat(m.options.Dir); errors.Is(err, fs.ErrNotExist) {
		if err := objects.InitMirror(m.options.Dir, m.options.URL); err != nil {
			return fmt.Errorf("make the mirror: %w", err)
		}
	}
	r, err := openMirror(m.options.Dir, m.shown)
	if err == nil && !m.hasHead() {
		err = errors.Join(errors.New("HEAD is not a file"), r.close())
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	m.mirror = r
	m.configureFilter()
	return nil
}

// hasHead reports whether there is a file HEAD in the mirror.
func (m *Remote) hasHead() bool {
	info, err := os.Stat(filepath.Join(m.options.Dir, "HEAD"))
	return err == nil && info.Mode().IsRegular()
}

// mirroredPrefixes are the prefixes of the references that a mirror has: branches, tags, and those in
// which a plain-Git forge keeps pull requests.
var mirroredPrefixes = []string{"refs/heads/", tagPrefix, "refs/fairlead/"}

const tagPrefix = "refs/tags/"

// proposalPrefixes are the prefixes of the references in which forges keep pull requests: GitHub, Gitea
// and Azure, GitLab, Bitbucket.
var proposalPrefixes = []string{"refs/pull/", "refs/merge-requests/", "refs/pull-requests/"}

// update is the difference between a mirror and its remote.
type update struct {
	set    []*plumbing.Reference // references to write
	remove []plumbing.ReferenceName
	want   []plumbing.Hash // objects that the mirror lacks
}

func (u update) isEmpty() bool { return len(u.set) == 0 && len(u.remove) == 0 }

// planUpdate returns the difference between the mirror and the remote in the references that the
// remote was asked for. It also updates the mirror's HEAD.
func (r *Repository) planUpdate(theirs *packp.AdvRefs, asked []string) (update, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var u update
	known, err := r.store.HashReferences()
	if err != nil {
		return u, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	ours := maps.Clone(known)
	maps.DeleteFunc(ours, func(name plumbing.ReferenceName, _ plumbing.Hash) bool { return !isUnder(name.String(), asked) })
	wanted := map[plumbing.Hash]bool{}
	for text, id := range theirs.References {
		name := plumbing.ReferenceName(text)
		if !isMirrored(text) || !isUnder(text, asked) || ours[name] == id {
			delete(ours, name)
			continue
		}
		delete(ours, name)
		u.set = append(u.set, plumbing.NewHashReference(name, id))
		if r.store.HasEncodedObject(id) != nil && !wanted[id] {
			wanted[id] = true
			u.want = append(u.want, id)
		}
	}
	for name := range ours {
		u.remove = append(u.remove, name)
	}
	return u, r.setHead(theirs)
}

// setHead makes HEAD point to the branch that the remote's does.
func (r *Repository) setHead(theirs *packp.AdvRefs) error {
	for _, value := range theirs.Capabilities.Get("symref") {
		target, ok := strings.CutPrefix(value, "HEAD:")
		if !ok {
			continue
		}
		if now, err := r.store.Reference(plumbing.HEAD); err == nil && now.Target().String() == target {
			return nil
		}
		return r.store.SetReference(plumbing.NewSymbolicReference(plumbing.HEAD, plumbing.ReferenceName(target)))
	}
	return nil
}

func isMirrored(name string) bool {
	return isUnder(name, mirroredPrefixes) && plumbing.ReferenceName(name).Validate() == nil
}

func isUnder(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func (r *Repository) applyUpdate(u update) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.updates++
	if r.updates%rotateAfter == 0 {
		r.store.RotateCaches()
		r.folders.Rotate()
	}
	// A branch a may have become a/b, or the other way round.
	for _, name := range u.remove {
		if err := r.store.RemoveReference(name); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	for _, ref := range u.set {
		if err := r.store.SetReference(ref); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return nil
}
