package repos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// ReadLocation returns where to read a repository that the control plane names.
func (r *Set) ReadLocation(url string) string { return access.ReadLocation(r.options.Settings, url) }

// IsSameRepository reports whether two URLs have the same location.
func (r *Set) IsSameRepository(a, b string) bool {
	return giturl.Normalize(r.ReadLocation(a)) == giturl.Normalize(r.ReadLocation(b))
}

// RemoteOf returns the remote for a URL, or else that of the control plane; nil if unknown.
func (r *Set) RemoteOf(url string) *Remote {
	if m := r.KnownRemote(r.ReadLocation(url)); m != nil {
		return m
	}
	return r.ControlPlane()
}

// ControlPlane returns the remote of the control plane; nil if unknown.
func (r *Set) ControlPlane() *Remote {
	return r.KnownRemote(r.ReadLocation(r.options.Settings.ControlPlane.Repo))
}

// KnowsRepository reports whether a repository is read, even through the settings' map, by
// normalized URL. Like forges, it ignores case.
func (r *Set) KnowsRepository(normal string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for known := range r.all {
		if strings.EqualFold(known, normal) {
			return true
		}
	}
	for url := range r.options.Settings.Map {
		if strings.EqualFold(giturl.Normalize(url), normal) {
			return true
		}
	}
	return strings.EqualFold(giturl.Normalize(r.options.Settings.ControlPlane.Repo), normal)
}

// Forge returns the same forge each time: some remember what they wrote.
func (m *Remote) Forge() (forge.Forge, error) {
	m.forgeMu.Lock()
	defer m.forgeMu.Unlock()
	if m.forge != nil {
		return m.forge, nil
	}
	made, err := m.set.keys.OpenForge(m.location, access.Observer{
		OnCall: func(kind, op string, took time.Duration, err error) {
			m.set.options.Metrics.RecordForgeCall(kind, op, took, err != nil)
		},
		OnRemaining: m.set.options.Metrics.SetRateLimitRemaining,
		BeforeWrite: m.set.options.BeforeWrite,
	}, func() forge.Forge { return forge.NewPlain(m.Remote, m.set.options.Author, m.set.options.Now) })
	if err == nil {
		m.forge = made
	}
	return made, err
}

// WrapForge replaces the forge of a remote.
func (m *Remote) WrapForge(wrap func(forge.Forge) forge.Forge) error {
	f, err := m.Forge()
	if err != nil {
		return err
	}
	m.forgeMu.Lock()
	defer m.forgeMu.Unlock()
	m.forge = wrap(f)
	return nil
}

// Committer returns the forge as a committer if configured and possible, else nil.
func (m *Remote) Committer(f forge.Forge) forge.Committer { return m.set.keys.Committer(m.location, f) }

// StatusCache has the statuses set, by repository, commit and context.
type StatusCache map[string]forge.Status

// maxStatuses limits the cache. Clearing it also sets long-lived statuses again, which forges may
// drop.
const maxStatuses = 60

func statusKey(repo, commit, context string) string { return repo + "@" + commit + " " + context }

// ForgetStatus lets a status be set again.
func (s StatusCache) ForgetStatus(repo, commit, context string) {
	delete(s, statusKey(repo, commit, context))
}

// ReportStatus is SetCommitStatus for information only: it logs a refusal.
func (r *Set) ReportStatus(ctx context.Context, said *StatusCache, url, commit string, s forge.Status) error {
	err := r.SetCommitStatus(ctx, said, url, commit, s)
	var refused *problem.Refusal
	var unknown *access.UnknownForge
	if errors.Is(err, git.ErrAccess) || errors.Is(err, git.ErrRefused) || errors.Is(err, git.ErrNotFound) || errors.As(err, &refused) || errors.As(err, &unknown) {
		r.options.Logger.Warn("the status of a commit could not be set", "repo", giturl.Redact(url), "commit", commit, "error", err)
		said.remember(url, commit, s)
		return nil
	}
	return err
}

// SetCommitStatus sets the status of a commit, unless it was set before.
func (r *Set) SetCommitStatus(ctx context.Context, said *StatusCache, url, commit string, s forge.Status) error {
	key := statusKey(url, commit, s.Context)
	if (*said)[key] == s {
		return nil
	}
	repo := r.RemoteOf(url)
	if repo == nil {
		return nil
	}
	r.options.BeforeEffect("set the status of " + commit)
	f, err := repo.Forge()
	if err == nil {
		err = f.SetStatus(ctx, commit, s)
	}
	if err != nil {
		return fmt.Errorf("set the status of commit %s: %w", commit, err)
	}
	said.remember(url, commit, s)
	return nil
}

func (s *StatusCache) remember(repo, commit string, status forge.Status) {
	if *s == nil || len(*s) > maxStatuses {
		*s = StatusCache{}
	}
	(*s)[statusKey(repo, commit, status.Context)] = status
}
