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

// go-git dials SSH servers without a context, so an unresponsive server would block forever. It
// only accepts a proxy's URL. So each connection has its own proxy, whose dialer ends with a
// context.

// dialScheme is the scheme of proxy URLs, whose host is a dialer's number.
const dialScheme = "fairlead-dial"

var (
	dialers        sync.Map // dialFunc by number
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

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

func (d dialFunc) Dial(network, address string) (net.Conn, error) {
	return d(context.Background(), network, address)
}

func (d dialFunc) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d(ctx, network, address)
}

// registerDial ends connections to an endpoint with ctx. The caller calls release once the session
// has begun.
func registerDial(ctx context.Context, endpoint *transport.Endpoint) (release func()) {
	registerDialer()
	number := fmt.Sprint(lastDialer.Add(1))
	dialers.Store(number, dialFunc(func(_ context.Context, network, address string) (net.Conn, error) {
		conn, err := proxy.Dial(ctx, network, address) // through the process's proxy, if any
		if err == nil {
			context.AfterFunc(ctx, func() { _ = conn.Close() })
		}
		return conn, err
	}))
	endpoint.Proxy = transport.ProxyOptions{URL: dialScheme + "://" + number}
	return func() { dialers.Delete(number) }
}
