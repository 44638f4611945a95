package repos

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// Mirrors opens repositories through mirrors in a folder. It is safe for concurrent use.
type Mirrors struct {
	Dir string
	// Options returns a location's options without URL and folder; nil uses no credentials.
	Options func(location string) (git.RemoteOptions, error)

	mu      sync.Mutex
	remotes map[string]*git.Remote // by normalized location
}

// Remote returns the remote of a location, always the same, without connecting.
func (m *Mirrors) Remote(location string) (*git.Remote, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := giturl.Normalize(location)
	if known := m.remotes[key]; known != nil {
		return known, nil
	}
	remote, err := m.newRemote(location)
	if err != nil {
		return nil, err
	}
	if m.remotes == nil {
		m.remotes = map[string]*git.Remote{}
	}
	m.remotes[key] = remote
	return remote, nil
}

func (m *Mirrors) newRemote(location string) (*git.Remote, error) {
	var o git.RemoteOptions
	var err error
	if m.Options != nil {
		o, err = m.Options(location)
	}
	if err != nil {
		return nil, err
	}
	o.URL, o.Dir = location, filepath.Join(m.Dir, giturl.FolderName(location))
	return git.NewRemote(o)
}

// Fetch fetches from a location and returns its remote.
func (m *Mirrors) Fetch(ctx context.Context, location string) (*git.Remote, error) {
	remote, err := m.Remote(location)
	if err != nil {
		return nil, err
	}
	_, err = remote.Sync(ctx)
	if err != nil {
		return nil, err
	}
	return remote, nil
}

// Open fetches from a location and returns its mirror.
func (m *Mirrors) Open(ctx context.Context, location string) (*git.Repository, error) {
	remote, err := m.Fetch(ctx, location)
	if err != nil {
		return nil, err
	}
	return remote.Mirror(), nil
}

// Known returns the remote of a used location, else nil.
func (m *Mirrors) Known(location string) *git.Remote {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.remotes[giturl.Normalize(location)]
}
