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

// isUnchanged compares only the references in use. It returns false if a full poll is needed: a
// reference moved, the server lacks protocol version 2, or no full poll was done yet.
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

func (m *Remote) protocolServer(endpoint *transport.Endpoint, auth transport.AuthMethod) protocol.Server {
	who, _ := auth.(githttp.AuthMethod)
	return protocol.Server{Client: protocol.NewClient(m.options.Stall, m.isTrusted), URL: endpoint.String(), Auth: who}
}

func isHTTP(e *transport.Endpoint) bool { return e.Protocol == "http" || e.Protocol == "https" }

// References are the commits of a remote's HEAD ("" in an empty repository), and of its branches and tags by name.
type References struct {
	Head           string
	Branches, Tags map[string]string
}

// ListReferences returns the remote's references, as git ls-remote does. It fetches nothing.
func (m *Remote) ListReferences(ctx context.Context) (References, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	refs := References{Branches: map[string]string{}, Tags: map[string]string{}}
	err := m.runExchange(ctx, "ask", func(ctx context.Context) error {
		adv, err := m.advertisedReferences(ctx, transport.UploadPackServiceName)
		if err != nil {
			return err
		}
		if adv.Head != nil {
			refs.Head = adv.Head.String()
		}
		for ref, id := range adv.References {
			switch name := plumbing.ReferenceName(ref); {
			case name.IsBranch():
				refs.Branches[name.Short()] = id.String()
			case name.IsTag():
				if peeled, annotated := adv.Peeled[ref]; annotated {
					id = peeled
				}
				refs.Tags[name.Short()] = id.String()
			}
		}
		return nil
	})
	return refs, err
}

// CheckPush returns nil if the remote accepts the start of a push; it cannot check a branch's
// protection.
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
