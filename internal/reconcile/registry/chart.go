package registry

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/list"
)

// Chart is a version of a chart, as an index has it. Digest may be "".
type Chart struct{ Version, Digest string }

const (
	indexFile = "index.yaml"
	maxIndex  = 50 << 20
	maxEntry  = 8 << 20
)

// index is what is known of an index.
type index struct {
	etag, modified string
	charts         []Chart
}

// String has what a change is told by.
func (i index) String() string { return fmt.Sprint(i.charts) }

// Charts returns the versions of a chart in a repository that is not in a registry.
func (c *Client) Charts(ctx context.Context, repo, chart string) ([]Chart, error) {
	u, err := url.Parse(repo)
	if err == nil {
		err = c.checkAllowed(u.Host, strings.Trim(u.Path, "/"))
	}
	if err != nil {
		return nil, err
	}
	found, err := findAnswer(ctx, c, question{"the index of " + repo + " for chart " + chart, u.Host, c.options.Every}, func(ctx context.Context, last index) (index, error) {
		next, err := c.fetchIndex(ctx, u.JoinPath(indexFile).String(), chart, last)
		if err != nil {
			return last, fmt.Errorf("read the index of %s: %w", repo, err)
		}
		return next, nil
	})
	if err != nil {
		return nil, err
	}
	return found.charts, nil
}

func (c *Client) fetchIndex(ctx context.Context, location, chart string, last index) (index, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, location, nil)
	if err != nil {
		return last, err
	}
	if last.etag != "" {
		r.Header.Set("If-None-Match", last.etag)
	} else if last.modified != "" {
		r.Header.Set("If-Modified-Since", last.modified)
	}
	if c.options.Credentials != nil {
		user, password, err := c.options.Credentials(ctx, location)
		if err != nil {
			return last, err
		}
		if password != "" {
			r.SetBasicAuth(user, password)
		}
	}
	resp, err := (&http.Client{Transport: c.hosts}).Do(r)
	if err != nil {
		return last, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotModified && last.charts != nil:
		return last, nil
	case resp.StatusCode != http.StatusOK:
		return last, fmt.Errorf("the server answers %s", resp.Status)
	}
	next := index{etag: resp.Header.Get("ETag"), modified: resp.Header.Get("Last-Modified")}
	next.charts, err = readIndex(resp.Body, chart)
	return next, err
}

func readIndex(r io.Reader, chart string) ([]Chart, error) {
	entries, _, err := FindEntries(r, chart, maxEntry)
	if errors.Is(err, ErrTooLarge) {
		return nil, fmt.Errorf("the versions of chart %s are larger than %d MiB", chart, maxEntry>>20)
	}
	if err != nil {
		return nil, err
	}
	var read []entry
	if err := yaml.Unmarshal(entries, &read); err != nil {
		return nil, fmt.Errorf("chart %s: %w", chart, err)
	}
	if len(read) == 0 {
		return nil, fmt.Errorf("it has no chart %s", chart)
	}
	return list.Convert(read, func(e entry) Chart { return Chart(e) }), nil
}

type entry struct {
	Version string `yaml:"version"`
	Digest  string `yaml:"digest"`
}

// ErrTooLarge means that the entries of a chart exceed their limit.
var ErrTooLarge = errors.New("the entries of the chart are too large")

// FindEntries returns the list of one chart's entries in an index as Helm writes it, where each name has a line of its own, and
// whether the text is an index at all. It keeps no other text: a decoder would need ten times the memory of an index.
func FindEntries(index io.Reader, chart string, limit int) (entries []byte, isIndex bool, err error) {
	r := bufio.NewReaderSize(index, 64<<10)
	isInEntries, isFound, isRest, indent := false, false, false, 0
	for {
		line, err := r.ReadSlice('\n')
		text := strings.TrimRight(string(line), " \r\n")
		trimmed := strings.TrimLeft(text, " ")
		depth := len(text) - len(trimmed)
		switch {
		case !isRest && (trimmed == "" || trimmed[0] == '#'):
		case !isRest && depth == 0 && trimmed[0] != '-':
			isInEntries, isFound, indent = strings.HasPrefix(trimmed, "entries:"), false, 0
			isIndex = isIndex || isInEntries
		case !isRest && isInEntries && (indent == 0 || depth == indent) && trimmed[0] != '-':
			indent = depth
			isFound = strings.Trim(strings.TrimSuffix(trimmed, ":"), `"'`) == chart
		case isFound:
			entries = append(entries, line...)
		}
		isRest = errors.Is(err, bufio.ErrBufferFull)
		switch {
		case len(entries) > limit:
			return nil, isIndex, ErrTooLarge
		case err == io.EOF:
			return entries, isIndex, nil
		case err != nil && !isRest:
			return nil, isIndex, err
		}
	}
}
