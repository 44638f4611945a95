package git

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strconv"

	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"golang.org/x/crypto/ssh"

	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/git/protocol"
)

func (m *Remote) isTrusted(u *url.URL) bool {
	if !m.options.Guard && giturl.SameServer(m.options.URL, u.String()) {
		return true
	}
	return m.options.IsTrusted != nil && m.options.IsTrusted(u.String())
}

// redactError classifies err. For guarded remotes it drops everything that came from the server.
func (m *Remote) redactError(err error) error {
	known := classifyError(err)
	if !m.options.Guard || errors.Is(known, context.Canceled) {
		return known
	}
	var busy *BusyError
	if errors.As(known, &busy) {
		return &BusyError{busy.After, &protocol.UntrustedError{Kind: ErrUnreachable, Err: busy.err}}
	}
	var answer *githttp.Err
	s := &protocol.UntrustedError{Kind: ErrUnreachable, Err: known}
	for _, kind := range []error{ErrNotFound, ErrAccess, ErrNoRevision, ErrRefused, ErrStale, ErrDamaged, errDisk, errTimeout, protocol.ErrMissingObject, protocol.ErrUnsupported} {
		if errors.Is(known, kind) {
			s.Kind = kind
			break
		}
	}
	if errors.As(err, &answer) {
		s.Code = answer.StatusCode()
	}
	return s
}

// guardSSH checks a server's address when connecting: the name may resolve differently than before.
func guardSSH(endpoint *transport.Endpoint, auth transport.AuthMethod) (transport.AuthMethod, error) {
	method, ok := auth.(gitssh.AuthMethod)
	if !ok {
		agent, err := gitssh.DefaultAuthBuilder(endpoint.User)
		if err != nil {
			return nil, err
		}
		method = agent
	}
	return guardedSSH{method, endpoint}, nil
}

type guardedSSH struct {
	gitssh.AuthMethod
	endpoint *transport.Endpoint
}

// ClientConfig checks the address before the host key.
func (g guardedSSH) ClientConfig() (*ssh.ClientConfig, error) {
	c, err := g.AuthMethod.ClientConfig()
	if err != nil {
		return nil, err
	}
	if c.HostKeyCallback == nil {
		db, err := gitssh.NewKnownHostsDb()
		if err != nil {
			return nil, err
		}
		port := g.endpoint.Port
		if port == 0 {
			port = gitssh.DefaultPort
		}
		c.HostKeyCallback = db.HostKeyCallback()
		c.HostKeyAlgorithms = db.HostKeyAlgorithms(net.JoinHostPort(g.endpoint.Host, strconv.Itoa(port)))
	}
	next := c.HostKeyCallback
	c.HostKeyCallback = func(host string, remote net.Addr, key ssh.PublicKey) error {
		if err := protocol.CheckAddress(remote.String()); err != nil {
			return err
		}
		return next(host, remote, key)
	}
	return c, nil
}
