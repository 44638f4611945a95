package reports

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
)

// serveTLS starts a server with a certificate of the kind that most have, and returns it with what a
// client must trust.
func serveTLS(b *testing.B, handler http.Handler) (*httptest.Server, *x509.CertPool) {
	b.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fairlead"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		b.Fatal(err)
	}
	trusted, err := x509.ParseCertificate(der)
	if err != nil {
		b.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(trusted)
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS13}
	server.StartTLS()
	b.Cleanup(server.Close)
	return server, pool
}

// BenchmarkConnection is a report over TLS that all is as it was: on a connection that is kept, as an
// agent keeps it, and on a new one, as each event of Flux comes. Figures have the work of both ends.
func BenchmarkConnection(b *testing.B) {
	for _, kept := range []bool{true, false} {
		b.Run(map[bool]string{true: "kept", false: "new"}[kept], func(b *testing.B) {
			now := noon
			fleet := newFleet(1)
			handler := receiverOf(&now)
			newRound(b, fleet, true, 1, now).send(b, handler)
			server, pool := serveTLS(b, handler)
			transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}, DisableKeepAlives: !kept}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			sequence := uint64(1)
			var used time.Duration
			for b.Loop() {
				now = now.Add(time.Minute)
				sequence++
				r := newRound(b, fleet, false, sequence, now)
				start := cpuTime(b)
				request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, server.URL+agentapi.Path, bytes.NewReader(r.bodies[0]))
				if err != nil {
					b.Fatal(err)
				}
				request.Header.Set(agentapi.ClusterHeader, r.names[0])
				request.Header.Set(agentapi.SignatureHeader, agentapi.Sign(r.keys[0], http.MethodPost, r.bodies[0]))
				answer, err := client.Do(request)
				if err != nil {
					b.Fatal(err)
				}
				answer.Body.Close()
				if answer.StatusCode != http.StatusNoContent {
					b.Fatal(answer.Status)
				}
				used += cpuTime(b) - start
			}
			b.ReportMetric(float64(used.Microseconds())/float64(b.N), "cpu-µs/request")
		})
	}
}

// cpuTime returns what this process has used of processors.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRound is a round of 10,000 agents with 20 objects each: that all is as it was, and everything.
func BenchmarkRound(b *testing.B) {
	for _, full := range []bool{false, true} {
		b.Run(map[bool]string{false: "unchanged", true: "everything"}[full], func(b *testing.B) {
			now := noon
			handler, fleet := receiverOf(&now), newFleet(10_000)
			newRound(b, fleet, true, 1, now).send(b, handler)
			sequence := uint64(1)
			for b.Loop() {
				b.StopTimer()
				now = now.Add(time.Minute)
				sequence++
				r := newRound(b, fleet, full, sequence, now)
				b.StartTimer()
				r.send(b, handler)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/10_000, "µs/request")
		})
	}
}
