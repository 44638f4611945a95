package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/Masterminds/semver/v3"
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/change/inside"
	"github.com/fairlead-io/fairlead/internal/git/protocol"
	"github.com/fairlead-io/fairlead/internal/kube/chart"
	"github.com/fairlead-io/fairlead/internal/reconcile/registry"
)

const (
	maxIndex   = 50 << 20
	maxArchive = 10 << 20
)

// lookError is why a source is not read.
type lookError struct{ reason inside.Reason }

// Error names the reason.
func (e *lookError) Error() string { return string(e.reason) }

func refuseSource(r inside.Reason) error { return &lookError{r} }

func builtError(err error) inside.Built {
	var known *lookError
	if errors.As(err, &known) {
		return inside.Built{Reason: known.reason}
	}
	if errors.Is(err, protocol.ErrForbidden) {
		return inside.Built{Reason: inside.NotAllowed}
	}
	return inside.Built{Reason: inside.Unreachable}
}

func (f *Fetcher) buildIndexed(ctx context.Context, s inside.Source) inside.Built {
	packed, err := f.fetchIndexed(ctx, s)
	if err != nil {
		return builtError(err)
	}
	return f.renderChart(ctx, s, chart.Chart{Archive: packed})
}

// fetchIndexed returns the packed chart of a version, from the cache if the index has its digest.
func (f *Fetcher) fetchIndexed(ctx context.Context, s inside.Source) ([]byte, error) {
	base, err := url.Parse(strings.TrimSuffix(f.locate(s.URL), "/") + "/")
	if err != nil || base.Scheme != "https" && base.Scheme != "http" {
		return nil, refuseSource(inside.Unsupported)
	}
	var entry *indexEntry
	err = f.get(ctx, base.JoinPath("index.yaml"), maxIndex, func(body io.Reader) (err error) {
		entry, err = findEntry(body, s.Chart, s.Revision)
		return err
	})
	if err != nil {
		return nil, err
	}
	if entry == nil || len(entry.URLs) == 0 {
		return nil, refuseSource(inside.NotFound)
	}
	if known := f.cached(entry.Digest); known != nil {
		return known, nil
	}
	at, err := base.Parse(entry.URLs[0])
	if err != nil {
		return nil, refuseSource(inside.NotFound)
	}
	if at.Scheme != "https" && at.Scheme != "http" {
		return nil, refuseSource(inside.Unsupported)
	}
	var packed []byte
	err = f.get(ctx, at, maxArchive, func(body io.Reader) (err error) {
		packed, err = io.ReadAll(body)
		return err
	})
	if err != nil {
		return nil, err
	}
	return packed, f.cache(entry.Digest, packed)
}

// get reads an answer. It fails with TooLarge if the reader wants more than limit bytes.
func (f *Fetcher) get(ctx context.Context, at *url.URL, limit int64, read func(io.Reader) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return refuseSource(inside.NotFound)
	}
	if credentials := f.credentials(at.String()); credentials != nil {
		who, err := credentials(ctx)
		if err != nil || who.Secret == "" {
			return refuseSource(inside.Private)
		}
		request.SetBasicAuth(who.Username, who.Secret)
	}
	client := http.Client{Transport: hopTransport{f}}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	switch code := answer.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return refuseSource(inside.Private)
	case code == http.StatusNotFound || code == http.StatusGone:
		return refuseSource(inside.NotFound)
	case code != http.StatusOK:
		return refuseSource(inside.Unreachable)
	}
	limited := &io.LimitedReader{R: answer.Body, N: limit + 1}
	err = read(limited)
	if limited.N <= 0 {
		return refuseSource(inside.TooLarge)
	}
	return err
}

// hopTransport decides for each redirect whether its address is guarded, and bounds answers.
type hopTransport struct{ f *Fetcher }

// RoundTrip sends a request.
func (t hopTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	next := http.DefaultTransport
	if t.f.isGuarded(r.URL.String()) {
		next = protocol.GuardedTransport()
	}
	answer, err := next.RoundTrip(r)
	if err == nil {
		answer.Body = limitedBody{io.LimitReader(answer.Body, maxIndex+1), answer.Body}
	}
	return answer, err
}

type limitedBody struct {
	io.Reader
	io.Closer
}

type indexEntry struct {
	Version string   `yaml:"version"`
	Digest  string   `yaml:"digest"`
	URLs    []string `yaml:"urls"`
}

const maxEntries = maxIndex / 10

// findEntry returns nil if the index has no such version.
func findEntry(index io.Reader, name, version string) (*indexEntry, error) {
	found, isIndex, err := registry.FindEntries(index, name, maxEntries)
	switch {
	case errors.Is(err, registry.ErrTooLarge):
		return nil, refuseSource(inside.TooLarge)
	case err != nil:
		return nil, err
	case !isIndex:
		return nil, refuseSource(inside.Unsupported)
	}
	var entries []indexEntry
	if err := yaml.Unmarshal(found, &entries); err != nil {
		return nil, refuseSource(inside.NotFound)
	}
	wanted, err := semver.NewVersion(version)
	if err != nil {
		return nil, refuseSource(inside.NotFound)
	}
	for _, e := range entries {
		if v, err := semver.NewVersion(e.Version); err == nil && v.Equal(wanted) && v.Metadata() == wanted.Metadata() {
			return &e, nil
		}
	}
	return nil, nil
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

var errDigest = refuseSource(inside.Digest)
