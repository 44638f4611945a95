package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// envCredentials returns the credentials for the server of the control plane. They come from the
// process environment, because other users can read command lines.
func envCredentials() git.Credentials {
	username := cmp.Or(os.Getenv(usernameVariable), "x-access-token") // what GitHub calls the holder of a token; others ignore it
	return git.Credentials{Username: username, Secret: os.Getenv(tokenVariable)}
}

// credentialReader reads envCredentials, and warns of servers to which others can read them on the
// way, once of each.
type credentialReader struct{ warned sync.Map }

// newSource returns what reads the credentials for a location before each connection.
func (r *credentialReader) newSource(stderr io.Writer, location string) func(context.Context) (git.Credentials, error) {
	return func(context.Context) (git.Credentials, error) {
		who := envCredentials()
		if who.Secret == "" || !giturl.IsUnencrypted(location) {
			return who, nil
		}
		server := giturl.HTTPServer(location)
		if _, warned := r.warned.LoadOrStore(server, true); !warned {
			fmt.Fprintf(stderr, "fairlead: warning: %s is sent to %s without encryption\nfairlead: hint: use https\n", tokenVariable, server)
		}
		return who, nil
	}
}

// readCredentials returns the source of envCredentials for a location.
func (a *app) readCredentials(location string) func(context.Context) (git.Credentials, error) {
	return a.credentials.newSource(a.stderr, location)
}

// accessHint returns what to do about a repository that a server does not let us into, where no
// settings say how.
func accessHint() string {
	if os.Getenv(tokenVariable) == "" {
		return "set " + tokenVariable + " to a token that may read it, and write what is to be changed; and " + usernameVariable + ", if the server checks the user's name"
	}
	return tokenVariable + " may not do this, or is for another server (the control plane's is shown it, and no other): " +
		"check the token's rights and expiry, and " + usernameVariable + ", if the server checks the user's name"
}
