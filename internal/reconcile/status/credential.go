package status

import (
	"slices"
	"time"
)

// Credential is what a forge's API reports about a credential of the settings.
type Credential struct {
	// URL is the URL of its remote in the settings, without secrets.
	URL string `json:"url"`
	// Forge is "github", "gitlab" or "gitea".
	Forge string `json:"forge"`
	// Renewed is true for a GitHub App, whose tokens Fairlead renews.
	Renewed bool `json:"renewed,omitempty"`
	// Repositories are the repositories whose forge it is used for, without secrets, sorted.
	Repositories []string `json:"repositories"`
	// Limits are sorted by name; nil if unknown.
	Limits []RequestLimit `json:"-"`
	// RetryAt is the time before which Fairlead does not use it; zero if the forge never refused a
	// request.
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Expires is zero if unknown.
	Expires time.Time `json:"expires,omitzero"`
	// Asked is the time of the forge's last answer; zero before the first.
	Asked time.Time `json:"asked,omitzero"`
	// Refused is true if the forge did not accept the credential then.
	Refused bool `json:"refused,omitempty"`
}

// RequestLimit is a limit of the requests with a credential.
type RequestLimit struct {
	// Name is the forge's name for it, as "core"; "" if it has none.
	Name      string `json:"name,omitempty"`
	Limit     int    `json:"limit"`
	Remaining int    `json:"remaining"`
	// Resets is the time of the next reset; zero if unknown.
	Resets time.Time `json:"resets,omitzero"`
	// Asked is the time of the forge's answer.
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
