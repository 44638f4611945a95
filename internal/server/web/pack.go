package web

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-io/fairlead/internal/server/page"
)

// minPacked is the least size of what is worth packing: less fits into one packet anyway.
const minPacked = 1 << 10

// packBody returns a body as gzip; nil if this is not worth it.
func packBody(body []byte) []byte {
	if len(body) < minPacked {
		return nil
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(body) // to memory
	_ = w.Close()
	return packed.Bytes()
}

// packedAssets are the files that pages need, as gzip, by name.
var packedAssets sync.Map

func packAsset(name string) []byte {
	if kept, ok := packedAssets.Load(name); ok {
		return kept.([]byte)
	}
	data, _ := page.Asset(name)
	packed := packBody(data)
	packedAssets.Store(name, packed)
	return packed
}

func acceptsGzip(r *http.Request) bool {
	for one := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		coding, weight, _ := strings.Cut(strings.ReplaceAll(one, " ", ""), ";")
		if strings.EqualFold(coding, "gzip") {
			return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == ""
		}
	}
	return false
}

func addVary(w http.ResponseWriter, name string) {
	known := w.Header().Get("Vary")
	switch {
	case known == "":
		w.Header().Set("Vary", name)
	case !slices.Contains(strings.Split(known, ", "), name):
		w.Header().Set("Vary", known+", "+name)
	}
}

// writePacked answers with a body, or with the same as gzip to a client that reads it.
func (s *site) writePacked(w http.ResponseWriter, r *http.Request, code int, contentType string, body, packed []byte) {
	addVary(w, "Accept-Encoding")
	if packed != nil && acceptsGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		body = packed
	}
	s.writeBody(w, r, code, contentType, string(body))
}
