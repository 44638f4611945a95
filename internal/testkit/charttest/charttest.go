// Package charttest provides tests with Helm charts and a server that has an index of them.
//
// A chart is packed as Helm packs it, apart from names that a test makes harmful. The server counts
// the charts that it sends.
package charttest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// Of returns the packed chart "shop" of a version, with templates.
func Of(t testing.TB, version string, templates ...string) []byte {
	t.Helper()
	files := map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: " + version + "\n"}
	for i, text := range templates {
		files[fmt.Sprintf("templates/%d.yaml", i)] = text
	}
	return Pack(t, files)
}

// Pack packs a chart. Files whose names begin with / have the rest as their exact name in the archive.
func Pack(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		full, isExact := strings.CutPrefix(name, "/")
		if !isExact {
			full = "shop/" + name
		}
		if err := archive.WriteHeader(&tar.Header{Name: full, Size: int64(len(files[name])), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Server has packed versions of the chart "shop".
type Server struct {
	*httptest.Server
	Fetched atomic.Int64 // charts
}

// Serve serves packed charts, by version.
func Serve(t testing.TB, packed map[string][]byte) *Server {
	t.Helper()
	s := &Server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/index.yaml" {
			fmt.Fprint(w, "apiVersion: v1\nentries:\n  other:\n  - version: 1.10.0\n    urls: [/other]\n  shop:\n")
			for version, data := range packed {
				fmt.Fprintf(w, "  - name: shop\n    version: %s\n    digest: %x\n    urls:\n    - charts/%s.tgz\n", version, sha256.Sum256(data), version)
			}
			fmt.Fprint(w, "  zebra:\n  - version: 99.0.0\ngenerated: now\n")
			return
		}
		s.Fetched.Add(1)
		data, ok := packed[strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/charts/"), ".tgz")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(s.Close)
	return s
}
