package repos

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// Keyring returns the credentials of remotes.
func (r *Set) Keyring() *access.Keyring { return r.keys }

// ReportCredentials returns what forges report about the used credentials, sorted by URL.
func (r *Set) ReportCredentials() []status.Credential {
	r.mu.Lock()
	known := slices.Collect(maps.Values(r.all))
	r.mu.Unlock()
	byRemote := map[string]*status.Credential{}
	for _, m := range known {
		at, err := access.LocateForge(r.options.Settings, m.location)
		if err != nil || at.API == "" || !m.hasForge() {
			continue
		}
		remote, _ := r.options.Settings.Remote(m.location)
		c := byRemote[remote.URL]
		if c == nil {
			told := r.keys.Limiter(m.location).Report()
			c = &status.Credential{
				URL: giturl.Redact(remote.URL), Forge: at.Kind, Renewed: remote.GitHubApp != nil, RetryAt: told.RetryAt, Asked: told.Asked, Refused: told.Refused,
				Limits: list.Convert(told.Limits, func(l forge.RequestLimit) status.RequestLimit { return status.RequestLimit(l) }),
			}
			if !c.Renewed {
				c.Expires = told.Expires
			}
			byRemote[remote.URL] = c
		}
		c.Repositories = append(c.Repositories, m.URL())
	}
	all := make([]status.Credential, 0, len(byRemote))
	for _, c := range byRemote {
		slices.Sort(c.Repositories)
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b status.Credential) int {
		return cmp.Or(strings.Compare(a.URL, b.URL), strings.Compare(a.Forge, b.Forge))
	})
	return all
}

func (m *Remote) hasForge() bool {
	m.forgeMu.Lock()
	defer m.forgeMu.Unlock()
	return m.forge != nil
}
