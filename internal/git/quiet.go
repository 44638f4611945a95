package git

import (
	"context"
	"errors"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/fairlead-io/fairlead/internal/git/wire"
)

// brief asks a server only for the references that a mirror has, which are few where pull
// requests are many. refs is nil if it has to be asked in full: because somebody wants
// to know of the others, because it does not speak version 2 of Git's protocol, or
// because nothing is known of it yet.
func (m *Remote) brief(ctx context.Context) (refs *packp.AdvRefs, err error) {
	if !m.options.Brief || m.others == "" || m.wantOthers || m.notBrief {
		return nil, nil
	}
	endpoint, auth, err := m.endpoint(ctx)
	if err != nil || !isHTTP(endpoint) {
		return nil, err
	}
	who, _ := auth.(githttp.AuthMethod) // nil for nobody
	refs, err = wire.References(ctx, wire.Client(m.options.Stall), endpoint.String(), who, append([]string{"HEAD"}, mirrored...))
	if errors.Is(err, wire.ErrUnsupported) {
		m.notBrief = true
		return nil, nil
	}
	return refs, err
}

func isHTTP(e *transport.Endpoint) bool { return e.Protocol == "http" || e.Protocol == "https" }
