package protocol_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/git/protocol"
)

func TestIsForbidden(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1": true, "127.8.8.8": true, "0.0.0.0": true, "0.1.2.3": true, "169.254.169.254": true, "169.254.0.1": true, "224.0.0.1": true,
		"100.100.100.200": true, "168.63.129.16": true, "::1": true, "::": true, "fe80::1": true, "fe80::1%eth0": true, "ff02::1": true, "fd00:ec2::254": true,
		"::ffff:127.0.0.1": true, "::ffff:169.254.169.254": true, "::127.0.0.1": true, "64:ff9b::7f00:1": true, "64:ff9b::a9fe:a9fe": true, "2002:7f00:1::": true,
		"140.82.121.4": false, "10.0.0.1": false, "192.168.1.1": false, "172.16.0.1": false, "100.100.100.201": false, "2606:50c0:8000::153": false, "fd12:3456::1": false,
		"64:ff9b::8c52:7904": false, "::ffff:140.82.121.4": false,
	} {
		if got := protocol.IsForbidden(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
	if !protocol.IsForbidden(netip.Addr{}) {
		t.Error("no address at all is allowed")
	}
}

// TestGuardedClient: no spelling of this machine's address is reached; a client without the
// guard reaches it.
func TestGuardedClient(t *testing.T) {
	asked := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.Host }))
	defer server.Close()
	port := server.URL[strings.LastIndexByte(server.URL, ':'):]
	guarded := protocol.NewClient(time.Minute, func(*url.URL) bool { return false })
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "0.0.0.0", "169.254.169.254", "[fd00:ec2::254]"} {
		_, err := guarded.Get("http://" + host + port + "/")
		if err == nil {
			t.Errorf("%s was reached", host)
		}
		if (host == "127.0.0.1" || host == "169.254.169.254" || host == "[fd00:ec2::254]" || host == "0.0.0.0") && !errors.Is(err, protocol.ErrForbidden) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if len(asked) != 0 {
		t.Errorf("the server was asked as %s", <-asked)
	}
	if _, err := protocol.NewClient(time.Minute, func(*url.URL) bool { return true }).Get(server.URL); err != nil || len(asked) != 1 {
		t.Errorf("without the guard: %v, %d requests", err, len(asked))
	}
}
