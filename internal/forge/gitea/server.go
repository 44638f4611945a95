package gitea

import (
	"context"
	"strings"

	sdk "code.gitea.io/sdk/gitea"
)

// TestedVersion is the version of Gitea that the tests run. No other was tried, and no
// Forgejo.
const TestedVersion = "1.26"

// Server is the version of a server.
type Server struct {
	Version string // "1.26.0", "11.0.1+gitea-1.22.0"
	Forgejo bool
	Tested  bool // it is of the version that we have tried
}

// Server asks the server what it is.
func (g *Forge) Server(ctx context.Context) (Server, error) {
	version, _, err := callAPI(ctx, g, "read the server's version", func(c *sdk.Client) (string, *sdk.Response, error) {
		return c.ServerVersion()
	})
	if err != nil {
		return Server{}, err
	}
	forgejo := strings.Contains(version, "+gitea-")
	return Server{Version: version, Forgejo: forgejo, Tested: !forgejo && strings.HasPrefix(version+".", TestedVersion+".")}, nil
}
