package git

import (
	"context"
	"errors"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

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

// advertisedReferences returns the references that a service of the remote advertises.
func (m *Remote) advertisedReferences(ctx context.Context, service string) (adv *packp.AdvRefs, err error) {
	s, err := m.openSession(ctx, service)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.references(ctx)
}
