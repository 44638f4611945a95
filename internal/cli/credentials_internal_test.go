package cli

import (
	"bytes"
	"testing"
)

// TestTokenInTheClear: a token that others can read on the way is warned of, once for each server,
// and only if there is one.
func TestTokenInTheClear(t *testing.T) {
	const warning = "fairlead: warning: FAIRLEAD_GIT_TOKEN is sent to http://git.example.com without encryption\nfairlead: hint: use https\n"
	for _, test := range []struct {
		token, location, want string
	}{
		{"secret", "http://git.example.com/team/fleet", warning},
		{"secret", "https://git.example.com/team/fleet", ""},
		{"secret", "http://localhost:3000/team/fleet", ""},
		{"secret", "http://127.0.0.1:3000/team/fleet", ""},
		{"secret", "http://[::1]:3000/team/fleet", ""},
		{"", "http://git.example.com/team/fleet", ""},
	} {
		t.Setenv("FAIRLEAD_GIT_TOKEN", test.token)
		var stderr bytes.Buffer
		var r credentialReader
		for range 2 {
			who, err := r.newSource(&stderr, test.location)(t.Context())
			if err != nil || who.Secret != test.token {
				t.Errorf("%s: %q, %v", test.location, who.Secret, err)
			}
		}
		if got := stderr.String(); got != test.want {
			t.Errorf("%s with %q: it says %q, want %q", test.location, test.token, got, test.want)
		}
	}
}
