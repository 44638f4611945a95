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

// envCredentials returns the control plane's credentials from the environment, because
// other users can read command lines.
func envCredentials() git.Credentials {
	username := cmp.Or(os.Getenv(usernameVariable), "x-access-token") // GitHub's user name for tokens; others ignore it
	return git.Credentials{Username: username, Secret: os.Getenv(tokenVariable)}
}

// credentialReader reads envCredentials, and warns once of each unencrypted server.
type credentialReader struct{ warned sync.Map }

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

func (a *app) readCredentials(location string) func(context.Context) (git.Credentials, error) {
	return a.credentials.newSource(a.stderr, location)
}

func accessHint() string {
	if os.Getenv(tokenVariable) == "" {
		return "set " + tokenVariable + " to a token that may read it, and write what is to be changed; and " + usernameVariable + ", if the server checks the user's name"
	}
	return tokenVariable + " may not do this, or is for another server (the control plane's is shown it, and no other): " +
		"check the token's rights and expiry, and " + usernameVariable + ", if the server checks the user's name"
}
