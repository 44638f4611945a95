package gitea

import (
	"context"
	"strings"

	sdk "code.gitea.io/sdk/gitea"
)

// TestedVersion is the version of Gitea in the tests. Other versions and Forgejo are untested.
const TestedVersion = "1.26"

// Server is the version of a server.
type Server struct {
	Version string // such as "1.26.0" or "11.0.1+gitea-1.22.0"
	Forgejo bool
	Tested  bool
}

// Server asks the server for its version.
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
