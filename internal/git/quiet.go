package git

import (
	"context"
	"errors"
	"slices"

	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/fairlead-io/fairlead/internal/git/protocol"
)

// quiet asks the server only for the references that are in use and reports whether they equal
// those of the mirror. It returns false if a full poll is needed: a reference moved, the server
// does not speak version 2 of Git's protocol, or it was never polled in full.
func (m *Remote) quiet(ctx context.Context) (bool, error) {
	if !m.options.Brief || m.others == "" || m.notBrief || m.becomesWhole() {
		return false, nil
	}
	endpoint, auth, err := m.endpoint(ctx)
	if err != nil || !isHTTP(endpoint) {
		return false, err
	}
	asked := m.asked()
	theirs, err := m.server(endpoint, auth).References(ctx, append([]string{"HEAD"}, asked...))
	if errors.Is(err, protocol.ErrUnsupported) {
		m.notBrief = true
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := m.open(); err != nil {
		return false, err
	}
	if m.wantOthers {
		m.others = protocol.Digest(theirs, proposed)
	}
	plan, err := m.mirror.compare(theirs, asked)
	return err == nil && plan.nothing(), err
}

// asked returns the prefixes of the references that a poll asks for.
func (m *Remote) asked() []string {
	if m.mirror != nil {
		m.wantTags = m.wantTags || m.mirror.looksForTags()
	}
	asked := slices.DeleteFunc(slices.Clone(mirrored), func(prefix string) bool { return prefix == tags && !m.wantTags })
	if m.wantOthers {
		asked = append(asked, proposed...)
	}
	return asked
}

func (r *Repository) looksForTags() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tagged
}

// server returns the remote as a server of version 2 of Git's protocol.
func (m *Remote) server(endpoint *transport.Endpoint, auth transport.AuthMethod) protocol.Server {
	who, _ := auth.(githttp.AuthMethod) // nil for anonymous access
	return protocol.Server{Client: protocol.Client(m.options.Stall, m.trusts), URL: endpoint.String(), Auth: who}
}

func isHTTP(e *transport.Endpoint) bool { return e.Protocol == "http" || e.Protocol == "https" }
