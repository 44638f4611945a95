package git

import (
	"context"
	"errors"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

// Branches asks the remote for the heads of its branches and returns them by name. It fetches
// nothing.
func (m *Remote) Branches(ctx context.Context) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	heads := map[string]string{}
	err := m.exchange(ctx, "ask", func(ctx context.Context) error {
		adv, err := m.advertised(ctx, transport.UploadPackServiceName)
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

// CanPush returns nil if the remote accepts the beginning of a push. Whether it accepts one to
// a branch is known only by trying.
func (m *Remote) CanPush(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.exchange(ctx, "ask to push to", func(ctx context.Context) error {
		_, err := m.advertised(ctx, transport.ReceivePackServiceName)
		return err
	})
}

// advertised returns the references that a service of the remote advertises.
func (m *Remote) advertised(ctx context.Context, service string) (adv *packp.AdvRefs, err error) {
	s, err := m.connect(ctx, service)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return s.references(ctx)
}
