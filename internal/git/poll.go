package git

import (
	"context"
	"errors"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/fairlead-io/fairlead/internal/git/protocol"
)

// isUnchanged asks the server only for the references that are in use and reports whether they equal
// those of the mirror. It returns false if a full poll is needed: a reference moved, the server
// does not speak version 2 of Git's protocol, or it was never polled in full.
func (m *Remote) isUnchanged(ctx context.Context) (bool, error) {
	if !m.options.NarrowPoll || m.proposals == "" || m.noProtocolV2 || m.mustFetchWhole() {
		return false, nil
	}
	endpoint, auth, err := m.resolveEndpoint(ctx)
	if err != nil || !isHTTP(endpoint) {
		return false, err
	}
	asked := m.polledPrefixes()
	theirs, err := m.protocolServer(endpoint, auth).ListReferences(ctx, append([]string{"HEAD"}, asked...))
	if errors.Is(err, protocol.ErrUnsupported) {
		m.noProtocolV2 = true
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := m.ensureMirror(); err != nil {
		return false, err
	}
	if m.wantProposals {
		m.proposals = protocol.DigestReferences(theirs, proposalPrefixes)
	}
	plan, err := m.mirror.planUpdate(theirs, asked)
	return err == nil && plan.isEmpty(), err
}

func (m *Remote) polledPrefixes() []string {
	if m.mirror != nil {
		m.mirror.mu.Lock()
		m.wantTags = m.wantTags || m.mirror.tagsUsed
		m.mirror.mu.Unlock()
	}
	asked := slices.DeleteFunc(slices.Clone(mirroredPrefixes), func(prefix string) bool { return prefix == tagPrefix && !m.wantTags })
	if m.wantProposals {
		asked = append(asked, proposalPrefixes...)
	}
	return asked
}

// protocolServer returns the remote as a server of version 2 of Git's protocol.
func (m *Remote) protocolServer(endpoint *transport.Endpoint, auth transport.AuthMethod) protocol.Server {
	who, _ := auth.(githttp.AuthMethod) // nil for anonymous access
	return protocol.Server{Client: protocol.NewClient(m.options.Stall, m.isTrusted), URL: endpoint.String(), Auth: who}
}

func isHTTP(e *transport.Endpoint) bool { return e.Protocol == "http" || e.Protocol == "https" }

// ListBranches asks the remote for the heads of its branches and returns them by name. It fetches
// nothing.
func (m *Remote) ListBranches(ctx context.Context) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	heads := map[string]string{}
	err := m.runExchange(ctx, "ask", func(ctx context.Context) error {
		adv, err := m.advertisedReferences(ctx, transport.UploadPackServiceName)
		if err != nil {
			return err
		}
		for ref, id := range adv.References {
			if name := plumbing.ReferenceName(ref); name.IsBranch() {
				heads[name.Short()] = id.String()
			}
		}
		return nil
	})
	return heads, err
}

// CheckPush returns nil if the remote accepts the beginning of a push. Whether it accepts one to
// a branch is known only by trying.
func (m *Remote) CheckPush(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runExchange(ctx, "ask to push to", func(ctx context.Context) error {
		_, err := m.advertisedReferences(ctx, transport.ReceivePackServiceName)
		return err
	})
}

func (m *Remote) advertisedReferences(ctx context.Context, service string) (adv *packp.AdvRefs, err error) {
	s, err := m.openSession(ctx, service)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.references(ctx)
}
