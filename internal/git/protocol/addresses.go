package protocol

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ErrForbidden means that a URL in the control plane leads to this machine or its platform's
// infrastructure.
var ErrForbidden = errors.New("its address is one of this machine or of the platform that it runs on, which what people write into the control plane cannot reach (network.allow in the settings lets it)")

// forbidden are networks that only the operator may name: this machine, its link, and metadata
// services of clouds, which hand out credentials.
var forbidden = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("224.0.0.0/4"), netip.MustParsePrefix("255.255.255.255/32"),
	netip.MustParsePrefix("100.100.100.200/32"), netip.MustParsePrefix("168.63.129.16/32"), netip.MustParsePrefix("192.0.0.192/32"),
	netip.MustParsePrefix("::/128"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("ff00::/8"),
	netip.MustParsePrefix("fd00:ec2::/32"), netip.MustParsePrefix("fd20:ce::254/128"),
}

var ipv4Carriers = []struct {
	prefix netip.Prefix
	offset int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, {netip.MustParsePrefix("2002::/16"), 2}, {netip.MustParsePrefix("::/96"), 12},
}

// IsForbidden reports whether only the operator may name an address.
func IsForbidden(addr netip.Addr) bool {
	addr = addr.WithZone("").Unmap()
	for _, p := range forbidden {
		if p.Contains(addr) {
			return true
		}
	}
	for _, c := range ipv4Carriers {
		if c.prefix.Contains(addr) {
			bytes := addr.As16()
			if IsForbidden(netip.AddrFrom4([4]byte(bytes[c.offset : c.offset+4]))) {
				return true
			}
		}
	}
	return !addr.IsValid()
}

// CheckAddress returns ErrForbidden for a connection's forbidden address.
func CheckAddress(address string) error {
	parsed, err := netip.ParseAddrPort(address)
	if err != nil || IsForbidden(parsed.Addr()) {
		return ErrForbidden
	}
	return nil
}

// CheckHost returns ErrForbidden if a host resolves to a forbidden address.
func CheckHost(ctx context.Context, host string) error {
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return err
	}
	for _, addr := range addrs {
		if IsForbidden(addr) {
			return ErrForbidden
		}
	}
	return nil
}

// guardedTransport checks addresses when it connects, so that a name cannot evade the check by
// changing its address.
var guardedTransport = sync.OnceValue(func() *http.Transport {
	plain, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		plain = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	t := plain.Clone()
	var proxies sync.Map
	t.Proxy = func(req *http.Request) (*url.URL, error) {
		proxy, err := http.ProxyFromEnvironment(req)
		if proxy == nil || err != nil {
			return proxy, err
		}
		if isNumber(req.URL.Hostname()) { // proxies accept more spellings than netip
			if addr, err := netip.ParseAddr(req.URL.Hostname()); err != nil || IsForbidden(addr) {
				return nil, ErrForbidden
			}
		}
		proxies.Store(proxyAddress(proxy), true)
		return proxy, nil
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		d := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
		if _, ok := proxies.Load(address); !ok {
			d.Control = func(_, address string, _ syscall.RawConn) error { return CheckAddress(address) }
		}
		return d.DialContext(ctx, network, address)
	}
	return t
})

// GuardedTransport returns a transport that refuses forbidden addresses.
func GuardedTransport() http.RoundTripper { return guardedTransport() }

func proxyAddress(proxy *url.URL) string {
	port := proxy.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[proxy.Scheme]
	}
	return net.JoinHostPort(proxy.Hostname(), port)
}

// isNumber matches localhost and all spellings of IP addresses, such as 2130706433, 0x7f.1 and
// 0177.0.0.1.
func isNumber(host string) bool {
	last := host[strings.LastIndexByte(strings.TrimSuffix(host, "."), '.')+1:]
	return strings.Contains(host, ":") || last != "" && (last[0] >= '0' && last[0] <= '9') || strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost")
}

// UntrustedError is an error of a server that the control plane names. Its text reveals neither the
// answer nor the network.
type UntrustedError struct {
	Kind error
	Code int
	Err  error
}

// Error returns the kind and the HTTP status.
func (s *UntrustedError) Error() string {
	if errors.Is(s.Err, ErrForbidden) {
		return fmt.Sprintf("%v: %v", s.Kind, ErrForbidden)
	}
	if s.Code != 0 {
		return fmt.Sprintf("%v: HTTP status %d", s.Kind, s.Code)
	}
	return s.Kind.Error()
}

// Unwrap returns the original error.
func (s *UntrustedError) Unwrap() error { return s.Err }
