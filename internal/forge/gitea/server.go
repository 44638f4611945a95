package gitea

import (
	"context"
	"strings"

	sdk "code.gitea.io/sdk/gitea"
)

// Tried is the version of Gitea that the tests run. No other was tried, and no
// Forgejo.
const Tried = "1.26"

// Server is what a server says that it is.
type Server struct {
	Version string // "1.26.0", "11.0.1+gitea-1.22.0"
	Forgejo bool
	Tried   bool // it is of the version that we have tried
}

// Server asks the server what it is.
func (g *Forge) Server(ctx context.Context) (Server, error) {
	version, _, err := call(ctx, g, "read the server's version", func(c *sdk.Client) (string, *sdk.Response, error) {
		return c.ServerVersion()
	})
	if err != nil {
		return Server{}, err
	}
	forgejo := strings.Contains(version, "+gitea-")
	return Server{Version: version, Forgejo: forgejo, Tried: !forgejo && strings.HasPrefix(version+".", Tried+".")}, nil
}
