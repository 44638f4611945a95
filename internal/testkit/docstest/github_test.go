package docstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
)

// readerToken is the token that the tutorial's reader copies from GitHub, as the page writes it.
const readerToken = "github_pat_…"

// githubWorld is github.com for the commands of a page, and the programs that act on it. The page
// is typed as it stands: a proxy leads the connections for github.com and api.github.com to a
// GitHub for tests.
type githubWorld struct {
	*testing.T
	fake     *githubfake.Server
	clusters clusters
}

// startGitHub starts a github.com without repositories, and returns it with what programs find in
// their environment.
func startGitHub(t *testing.T) (*githubWorld, []string) {
	t.Helper()
	if runtime.GOOS == "darwin" {
		t.Skip("on macOS Go takes trusted certificates from the keychain, and not from SSL_CERT_FILE")
	}
	w := &githubWorld{T: t, fake: githubfake.Serve(t)}
	w.fake.Token, w.fake.Now = readerToken, time.Now
	certificate, authority := makeCertificate(t, "github.com", "api.github.com")
	hub := httptest.NewUnstartedServer(w.routeHosts())
	hub.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	hub.StartTLS()
	t.Cleanup(hub.Close)
	proxy := httptest.NewServer(w.tunnelTo(hub.Listener.Addr().String()))
	t.Cleanup(proxy.Close)
	standIns := httptest.NewServer(http.HandlerFunc(w.serveStandIns))
	t.Cleanup(standIns.Close)
	return w, []string{
		"HTTPS_PROXY=" + proxy.URL, "https_proxy=" + proxy.URL, "NO_PROXY=127.0.0.1",
		"SSL_CERT_FILE=" + authority, "GIT_SSL_CAINFO=" + authority, "GIT_TERMINAL_PROMPT=0",
		standInVariable + "=" + standIns.URL, "READER_TOKEN=" + readerToken,
	}
}

// tunnelTo returns a proxy that connects whoever wants GitHub to an address, and nobody else.
func (w *githubWorld) tunnelTo(address string) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodConnect || req.Host != "github.com:443" && req.Host != "api.github.com:443" {
			w.Errorf("%s %s: the page's commands may reach GitHub only", req.Method, req.Host)
			http.Error(rw, "not GitHub", http.StatusForbidden)
			return
		}
		server, err := net.Dial("tcp", address)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadGateway)
			return
		}
		defer server.Close()
		client, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			w.Error(err)
			return
		}
		defer client.Close()
		_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.Copy(server, client)
			_ = server.Close()
		}()
		_, _ = io.Copy(client, server)
		_ = client.Close()
		<-done
	})
}

// repositoryPath is the path of a repository on github.com, where .git may be left out.
var repositoryPath = regexp.MustCompile(`^(/[^/]+/[^/]+?)(?:\.git)?(/.*)$`)

// routeHosts serves github.com and api.github.com.
func (w *githubWorld) routeHosts() http.Handler {
	api, git := mustParseURL(w.T, w.fake.API()), mustParseURL(w.T, strings.TrimSuffix(w.fake.Git.URL(""), "/.git"))
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		switch {
		case r.In.Host == "github.com":
			r.Out.URL.Path, r.Out.URL.RawPath = repositoryPath.ReplaceAllString(r.In.URL.Path, "$1.git$2"), ""
			r.SetURL(git)
		case r.In.URL.Path == "/graphql": // on a server of one's own it is beside the REST API
			r.SetURL(api.JoinPath(".."))
		default:
			r.SetURL(api)
		}
	}}
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if req.Host == "api.github.com" && req.Method == http.MethodGet && w.answerDoctor(rw, req) {
			return
		}
		forward.ServeHTTP(rw, req)
	})
}

// doctorPaths are the requests of "fairlead doctor" that the GitHub for tests does not know, with
// what GitHub answers.
var doctorPaths = []struct {
	path   *regexp.Regexp
	status int
	body   string
}{
	{regexp.MustCompile(`^/rate_limit$`), http.StatusOK, `{}`},
	{regexp.MustCompile(`^/repos/(acme/[^/]+)$`), http.StatusOK, `{"full_name": "$1", "has_issues": true, "permissions": {"push": true}}`},
	{regexp.MustCompile(`^/repos/acme/[^/]+/commits/HEAD/status$`), http.StatusOK, `{}`},
	{regexp.MustCompile(`^/repos/acme/[^/]+/branches/[^/]+/protection$`), http.StatusNotFound, `{"message": "Branch not protected"}`},
}

// answerDoctor answers a request of doctor, and reports whether it was one.
func (w *githubWorld) answerDoctor(rw http.ResponseWriter, req *http.Request) bool {
	for _, one := range doctorPaths {
		if !one.path.MatchString(req.URL.Path) {
			continue
		}
		if req.Header.Get("Authorization") != "Bearer "+readerToken {
			rw.WriteHeader(http.StatusUnauthorized)
			return true
		}
		rw.WriteHeader(one.status)
		fmt.Fprint(rw, one.path.ReplaceAllString(req.URL.Path, one.body))
		return true
	}
	return false
}

func mustParseURL(t *testing.T, text string) *url.URL {
	t.Helper()
	parsed, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// makeCertificate makes a certificate for hosts, and the file of the authority that has signed it.
func makeCertificate(t *testing.T, hosts ...string) (tls.Certificate, string) {
	t.Helper()
	template := func(serial int64) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "docstest"},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		}
	}
	authority, leaf := template(1), template(2)
	authority.IsCA, authority.BasicConstraintsValid, authority.KeyUsage = true, true, x509.KeyUsageCertSign
	leaf.DNSNames, leaf.ExtKeyUsage = hosts, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	sign := func(what, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) []byte {
		signed, err := x509.CreateCertificate(rand.Reader, what, parent, &key.PublicKey, parentKey)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	authorityKey, leafKey := makeKey(t), makeKey(t)
	file := filepath.Join(t.TempDir(), "authority.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: sign(authority, authority, authorityKey, authorityKey)})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{sign(leaf, authority, leafKey, authorityKey)}, PrivateKey: leafKey}, file
}

func makeKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
