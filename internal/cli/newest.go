package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

const (
	// newestRelease is the API of the latest release.
	newestRelease = "https://api.github.com/repos/fairlead-io/fairlead/releases/latest"
	// releaseTimeout bounds the request, and maxReleaseAnswer its answer in bytes.
	releaseTimeout   = 15 * time.Second
	maxReleaseAnswer = 1 << 20

	releaseHint = "without a way to it, look at https://github.com/fairlead-io/fairlead/releases"
)

type releaseCheck struct {
	Version string `json:"version"`          // running
	Newest  string `json:"newest,omitempty"` // "" for no release
	Page    string `json:"page,omitempty"`
	// Update reports whether Newest is newer than Version.
	Update bool `json:"update"`
}

func checkRelease(ctx context.Context, address, version string) (releaseCheck, error) {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return releaseCheck{}, usageErrorf("as in --releases "+newestRelease, "--releases is no URL: %v", err)
	}
	request.Header.Set("Accept", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return releaseCheck{}, problem.WithHint(fmt.Errorf("look up the newest release: %w", err), releaseHint)
	}
	defer answer.Body.Close()
	found := releaseCheck{Version: version}
	if answer.StatusCode == http.StatusNotFound { // nothing is published
		return found, nil
	}
	if answer.StatusCode != http.StatusOK {
		return releaseCheck{}, problem.WithHint(fmt.Errorf("look up the newest release: %s answers %s", address, answer.Status), releaseHint)
	}
	var release struct {
		Tag  string `json:"tag_name"`
		Page string `json:"html_url"`
	}
	err = json.NewDecoder(io.LimitReader(answer.Body, maxReleaseAnswer)).Decode(&release)
	newest, ok := parseRelease(release.Tag)
	if err == nil && !ok {
		err = errors.New("tag_name is not a version")
	}
	if err != nil {
		return releaseCheck{}, problem.WithHint(fmt.Errorf("read the answer of %s: %w", address, err), releaseHint)
	}
	found.Newest, found.Page = release.Tag, release.Page
	own, isRelease := parseRelease(version)
	found.Update = isRelease && own.isOlderThan(newest)
	return found, nil
}

func (c releaseCheck) describe() string {
	_, isRelease := parseRelease(c.Version)
	switch {
	case c.Newest == "":
		return fmt.Sprintf("fairlead %s; no release is published yet\n", c.Version)
	case c.Update:
		return fmt.Sprintf("fairlead %s; %s is available: %s\n", c.Version, c.Newest, c.Page)
	case !isRelease:
		return fmt.Sprintf("fairlead %s is not a release; the newest release is %s: %s\n", c.Version, c.Newest, c.Page)
	}
	return fmt.Sprintf("fairlead %s is up to date\n", c.Version)
}

// releaseVersion is v1.2.3 or v1.2.3-rc.1.
type releaseVersion struct {
	major, minor, patch int
	candidate           string // after the dash
}

// parseRelease is false for other versions, such as Go's pseudo-versions.
func parseRelease(text string) (releaseVersion, bool) {
	var v releaseVersion
	n, _ := fmt.Sscanf(text, "v%d.%d.%d-%s", &v.major, &v.minor, &v.patch, &v.candidate)
	written := fmt.Sprintf("v%d.%d.%d", v.major, v.minor, v.patch)
	if v.candidate != "" {
		written += "-" + v.candidate
	}
	return v, n >= 3 && min(v.major, v.minor, v.patch) >= 0 && written == text && !isPseudo(v.candidate)
}

// isPseudo reports Go's suffix of time and commit: 20261123020304-0123456789ab.
func isPseudo(candidate string) bool {
	const length = len("20261123020304-0123456789ab")
	return len(candidate) >= length && candidate[len(candidate)-13] == '-'
}

func (v releaseVersion) isOlderThan(o releaseVersion) bool {
	switch {
	case v.major != o.major:
		return v.major < o.major
	case v.minor != o.minor:
		return v.minor < o.minor
	case v.patch != o.patch:
		return v.patch < o.patch
	case v.candidate == "" || o.candidate == "":
		return v.candidate != "" && o.candidate == ""
	}
	return v.candidate < o.candidate
}
