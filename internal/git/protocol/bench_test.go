package protocol

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"syscall"
	"testing"
	"time"
)

// BenchmarkReferences asks a server that has its answer at hand; the CPU time is that of
// both of them.
func BenchmarkReferences(b *testing.B) {
	answer := packet(id+" HEAD symref-target:refs/heads/main\n") + packet(id+" refs/heads/main\n") + packet(id+" refs/heads/fairlead/prod\n") + "0000"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, answer)
	}))
	defer s.Close()
	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	client, before := NewClient(time.Minute, func(*url.URL) bool { return true }), cpu()
	for b.Loop() {
		if _, err := (Server{Client: client, URL: s.URL + "/r.git"}).ListReferences(b.Context(), []string{"HEAD", "refs/heads/"}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu()-before)/float64(b.N)/1e6, "cpu-ms/both")
	b.ReportMetric(float64(len(answer)), "bytes/answer")
}
