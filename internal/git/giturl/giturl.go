// Package giturl compares and redacts the URLs and paths of repositories.
//
// What the package keeps true: locations of one repository are equal once normalized, and a
// redacted URL holds no credential.
package giturl

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

var scpLike = regexp.MustCompile(`^(?:[^@/\s]+@)?([^:/\s]+):([^/].*|/.*)$`)

// Normalize returns a location for comparison, without scheme, user, final slash and ".git", and
// with the host in lower case.
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

// IsRemote reports whether a location is not on this machine.
func IsRemote(location string) bool {
	if u, err := url.Parse(location); err == nil && u.Scheme != "" && strings.Contains(location, "://") {
		return u.Scheme != "file"
	}
	return scpLike.MatchString(location) && !strings.HasPrefix(location, "/") && !strings.HasPrefix(location, ".")
}

// LocalPath returns a location without "file://".
func LocalPath(location string) string { return strings.TrimPrefix(location, "file://") }

// HTTPServer returns the scheme, host and non-standard port of an http or https URL, or "".
func HTTPServer(location string) string {
	u, err := url.Parse(strings.TrimSpace(location))
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	host := strings.TrimSuffix(strings.ToLower(u.Host), ":"+map[string]string{"https": "443", "http": "80"}[u.Scheme])
	return u.Scheme + "://" + strings.TrimSuffix(host, ":")
}

// IsUnencrypted reports whether a location uses plain HTTP to another machine.
func IsUnencrypted(location string) bool {
	u, err := url.Parse(strings.TrimSpace(location))
	if err != nil || u.Scheme != "http" || strings.EqualFold(u.Hostname(), "localhost") {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err != nil || !ip.IsLoopback()
}

// Redact removes the user, which may be a token, and the password from a URL.
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

// FolderName returns a readable, unique folder name for a URL.
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
