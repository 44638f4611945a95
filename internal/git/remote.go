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

// RemoteOptions describe a remote.
type RemoteOptions struct {
	URL string // http, https, ssh, file, user@host:path, or a path
	Dir string
	// Credentials is called before each connection; nil is anonymous.
	Credentials func(context.Context) (Credentials, error)
	// Timeout bounds one fetch or push (default 2 min), Stall a wait for the next byte (default 30
	// s).
	Timeout, Stall time.Duration
	// NarrowPoll polls only the references in use, with protocol version 2 over HTTP. Tags are in
	// use after the first lookup of one.
	NarrowPoll bool
	// Partial makes a partial mirror if an HTTP server supports filters. Other mirrors are or
	// become whole.
	Partial bool
	// Guard, for URLs that the operator did not name, refuses addresses of this machine and its
	// platform, and keeps the server's answers out of errors.
	Guard bool
	// IsTrusted reports whether redirects may lead to a URL because the operator named its server.
	// nil trusts only an unguarded remote's own server.
	IsTrusted func(url string) bool
	// OnFilter, if not nil, gets the mirror's new filter: "tree:0", "blob:none", or "" for none.
	OnFilter func(filter string)
	// NewContext makes the context of a fetch by a reader; nil uses the background context.
	NewContext func(limit time.Duration) (context.Context, context.CancelFunc)
	// Rehearse, if not nil, replaces pushing. The mirror does not change.
	Rehearse func(Rehearsal)
	// OnExchange, if not nil, is called before each exchange with the redacted URL, and its result
	// afterwards.
	OnExchange func(op, url string) (end func())
	// BeforePush, if not nil, is called right before a push is sent, and refuses it by an error.
	BeforePush func(context.Context) error
	// Observe, if not nil, is called after each "poll" (nothing moved), "fetch" or "push".
	Observe func(op string, took time.Duration, err error)
}

const (
	defaultTimeout = 2 * time.Minute
	defaultStall   = 30 * time.Second
)

// Remote is a remote repository and its local bare mirror. It is safe for concurrent use. Readers
// may fetch missing objects concurrently with another process: a pack that arrives twice is
// harmless.
type Remote struct {
	options RemoteOptions
	shown   string

	writing sync.Mutex // each pack uses all processors
	key     sshKey

	mu        sync.Mutex // one exchange at a time
	mirror    *Repository
	proposals string
	// wantProposals is set by ProposalDigest, wantTags by the first lookup of a tag, noProtocolV2
	// by the server's answer.
	wantProposals, wantTags, noProtocolV2 bool
	wantWhole                             bool
}

// NewRemote reads nothing yet.
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

// URL returns the redacted URL.
func (m *Remote) URL() string { return m.shown }

// Mirror returns the mirror as of the last Sync or Push; nil without one.
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

// ProposalDigest returns a hash of the pull-request references at the last Sync. Narrow polls
// include these references only after the first call.
func (m *Remote) ProposalDigest() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wantProposals = true
	return m.proposals
}

// Sync polls the remote, fetches changes, and reports whether any reference moved. It rebuilds a
// damaged mirror.
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

// runExchange calls do with the mirror locked and a time limit, and classifies its error.
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
		_ = m.mirror.close()
	}
	m.mirror = nil
	// After a rename, no reader sees a half-removed mirror.
	trash := m.options.Dir + ".old"
	if err := os.RemoveAll(trash); err != nil {
		return err
	}
	if err := os.Rename(m.options.Dir, trash); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(trash)
}

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

// Fetch fetches commits outside of branches and tags, such as those of pull requests, which the
// mirror keeps until all packs are merged. The error is ErrNoRevision if one is missing.
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

// ensureMirror returns ErrDamaged if the mirror must be rebuilt.
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

func (m *Remote) hasHead() bool {
	info, err := os.Stat(filepath.Join(m.options.Dir, "HEAD"))
	return err == nil && info.Mode().IsRegular()
}

// mirroredPrefixes include the pull requests of a plain-Git forge.
var mirroredPrefixes = []string{"refs/heads/", tagPrefix, "refs/fairlead/"}

const tagPrefix = "refs/tags/"

// proposalPrefixes are of GitHub, Gitea and Azure; GitLab; Bitbucket.
var proposalPrefixes = []string{"refs/pull/", "refs/merge-requests/", "refs/pull-requests/"}

type update struct {
	set    []*plumbing.Reference
	remove []plumbing.ReferenceName
	want   []plumbing.Hash
}

func (u update) isEmpty() bool { return len(u.set) == 0 && len(u.remove) == 0 }

// planUpdate compares the references below asked. It also updates HEAD.
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
	// Removals first: a branch a may have become a/b, or the reverse.
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
