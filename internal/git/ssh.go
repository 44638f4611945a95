package git

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"golang.org/x/net/proxy"
)

// go-git dials an SSH server, and shakes hands with it, without a context: a server that does
// not answer would block for ever. It accepts only the URL of a proxy. So each connection has a
// proxy of its own, whose dialer closes the connection when a context ends.

// dialScheme is the scheme of the proxies' URLs; the host is the dialer's number.
const dialScheme = "fairlead-dial"

var (
	dialers        sync.Map // of dial functions, by number
	lastDialer     atomic.Int64
	registerDialer = sync.OnceFunc(func() {
		proxy.RegisterDialerType(dialScheme, func(u *url.URL, _ proxy.Dialer) (proxy.Dialer, error) {
			d, ok := dialers.Load(u.Host)
			if !ok {
				return nil, fmt.Errorf("there is no dialer %s", u.Host)
			}
			return d.(dialFunc), nil
		})
	})
)

// dialFunc connects to an address.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Dial connects without a context; it is part of proxy.Dialer.
func (d dialFunc) Dial(network, address string) (net.Conn, error) {
	return d(context.Background(), network, address)
}

// DialContext connects; it is part of proxy.ContextDialer.
func (d dialFunc) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d(ctx, network, address)
}

// registerDial makes the connections to an endpoint end with ctx. The caller calls release once the
// session has begun.
func registerDial(ctx context.Context, endpoint *transport.Endpoint) (release func()) {
	registerDialer()
	number := fmt.Sprint(lastDialer.Add(1))
	dialers.Store(number, dialFunc(func(_ context.Context, network, address string) (net.Conn, error) {
		conn, err := proxy.Dial(ctx, network, address) // by the proxy of the process, if it has one
		if err == nil {
			context.AfterFunc(ctx, func() { _ = conn.Close() })
		}
		return conn, err
	}))
	endpoint.Proxy = transport.ProxyOptions{URL: dialScheme + "://" + number}
	return func() { dialers.Delete(number) }
}
