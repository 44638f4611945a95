package status

import (
	"slices"
	"time"
)

// Credential is what the API of a forge tells of a credential of the settings.
type Credential struct {
	// URL is that of its remote in the settings, without secrets.
	URL string `json:"url"`
	// Forge is "github", "gitlab" or "gitea".
	Forge string `json:"forge"`
	// Renewed reports that it is a GitHub App, whose tokens Fairlead renews.
	Renewed bool `json:"renewed,omitempty"`
	// Repositories are those whose forge is asked with it, without secrets, sorted.
	Repositories []string `json:"repositories"`
	// Limits are sorted by name; nil if the forge tells none.
	Limits []RequestLimit `json:"-"`
	// RetryAt is the time before which Fairlead does not use it; zero if the forge never refused a request.
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Expires is zero if that is not known.
	Expires time.Time `json:"expires,omitzero"`
	// Asked is when the forge last answered; zero if it has not been asked yet.
	Asked time.Time `json:"asked,omitzero"`
	// Refused reports that it did not accept the credential then.
	Refused bool `json:"refused,omitempty"`
}

// RequestLimit is a limit of the requests with a credential.
type RequestLimit struct {
	// Name is what the forge calls it, as "core"; "" if it has no name.
	Name      string `json:"name,omitempty"`
	Limit     int    `json:"limit"`
	Remaining int    `json:"remaining"`
	// Resets is when it begins anew; zero if the forge does not tell.
	Resets time.Time `json:"resets,omitzero"`
	// Asked is when the forge told.
	Asked time.Time `json:"asked,omitzero"`
}

// SetCredentials replaces the reports of all credentials.
func (s *Store) SetCredentials(all []Credential) {
	all = slices.Clone(all)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.credentials = all
	s.announceChange()
}
