// Package giturl reads the URLs and paths by which people name repositories.
//
// What the package keeps true: two that mean the same repository are the same once they
// are normalized, and nothing that could be a credential is in what is shown.
package giturl

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"regexp"
	"strings"
)

// scpLike is user@host:path, as ssh users write it.
var scpLike = regexp.MustCompile(`^(?:[^@/\s]+@)?([^:/\s]+):([^/].*|/.*)$`)

// Normalize returns a URL as it is compared: https://host/path, ssh://host/path and
// host:path of one repository are the same, whatever the user, the case of the
// host, a final slash or ".git".
func Normalize(location string) string {
	location = strings.TrimSpace(location)
	host, path := "", location
	if u, err := url.Parse(location); err == nil && u.Scheme != "" && u.Host != "" {
		host, path = u.Host, u.Path
	} else if m := scpLike.FindStringSubmatch(location); m != nil && !strings.Contains(location, "://") {
		host, path = m[1], m[2]
	} else if u != nil && u.Scheme == "file" {
		path = u.Path
	}
	path = strings.TrimSuffix(strings.TrimRight(path, "/"), ".git")
	if host == "" {
		return path
	}
	return strings.ToLower(host) + "/" + strings.TrimLeft(path, "/")
}

// IsRemote reports whether a location is a URL of a remote, rather than a path on
// this machine.
func IsRemote(location string) bool {
	if u, err := url.Parse(location); err == nil && u.Scheme != "" && strings.Contains(location, "://") {
		return u.Scheme != "file"
	}
	return scpLike.MatchString(location) && !strings.HasPrefix(location, "/") && !strings.HasPrefix(location, ".")
}

// LocalPath returns the path that a location on this machine means.
func LocalPath(location string) string { return strings.TrimPrefix(location, "file://") }

// Host returns the host of an https URL, in lower case; "" for anything else.
func Host(location string) string {
	u, err := url.Parse(location)
	if err != nil || u.Scheme != "https" {
		return ""
	}
	return strings.ToLower(u.Host)
}

// Redact returns a URL that can be shown: without a user, which may be a token, or a
// password.
func Redact(location string) string {
	u, err := url.Parse(location)
	switch {
	case err != nil && strings.Contains(location, "@") && strings.Contains(location, "://"):
		return "(a URL that cannot be read)"
	case err != nil || u.User == nil:
		return location
	}
	u.User = nil
	return u.String()
}

// FolderName returns a name for a folder about the repository at a URL: it tells people
// which one that is, and two repositories do not share it.
func FolderName(url string) string {
	normal := Normalize(url)
	sum := sha256.Sum256([]byte(normal))
	readable := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(normal))
	return readable[max(0, len(readable)-60):] + "-" + hex.EncodeToString(sum[:6])
}
