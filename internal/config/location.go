package config

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// remoteLocation is a parsed URL for comparison, without user: the host is in lower case, and the
// port is always set.
type remoteLocation struct {
	scheme, host, port string
	path               []string // segments, none of them "", "." or ".."
}

// scpLike is user@host:path. The path of a prefix may be missing.
var scpLike = regexp.MustCompile(`^(?:[^@:/\s]+@)?([^@:/\s]+):([^@]*)$`)

var standardPorts = map[string]string{"https": "443", "http": "80", "ssh": "22"}

func parseLocation(s string) (remoteLocation, bool) {
	l, path := remoteLocation{scheme: "ssh"}, ""
	if u, err := url.Parse(s); err == nil && strings.Contains(s, "://") {
		l.scheme, l.host, l.port, path = u.Scheme, u.Hostname(), u.Port(), u.Path
		if strings.Contains(strings.ToUpper(u.RawPath), "%2F") {
			return remoteLocation{}, false
		}
	} else if m := scpLike.FindStringSubmatch(s); m != nil && !strings.Contains(s, "://") {
		l.host, path = m[1], m[2]
	}
	standard, known := standardPorts[l.scheme]
	if !known || l.host == "" || strings.ContainsAny(l.host, "/\\[] \t") {
		return remoteLocation{}, false
	}
	if l.port == "" {
		l.port = standard
	}
	l.host = strings.ToLower(l.host)
	path = strings.Trim(path, "/")
	if path != "" {
		l.path = strings.Split(path, "/")
	}
	doubtful := func(segment string) bool {
		return segment == "" || segment == "." || segment == ".." || strings.ContainsAny(segment, "\\\x00\r\n")
	}
	return l, !slices.ContainsFunc(l.path, doubtful)
}

func (l remoteLocation) isPrefixOf(m remoteLocation) bool {
	return l.scheme == m.scheme && l.host == m.host && l.port == m.port &&
		len(l.path) <= len(m.path) && slices.Equal(l.path, m.path[:len(l.path)])
}

func (l remoteLocation) canonicalURL() string {
	return l.scheme + "://" + l.host + ":" + l.port + "/" + strings.TrimSuffix(strings.Join(l.path, "/"), ".git")
}

func (l remoteLocation) isUnencrypted() bool {
	return giturl.IsUnencrypted(l.scheme + "://" + net.JoinHostPort(l.host, l.port))
}

// Remote returns the remote with the longest URL that is a prefix of url, by whole segments, with
// the same scheme, host and port.
func (s *Settings) Remote(url string) (Remote, bool) {
	wanted, ok := parseLocation(strings.TrimSpace(url))
	best, length := Remote{}, -1
	if !ok {
		return best, false
	}
	for _, r := range s.Remotes {
		l, ok := parseLocation(r.URL)
		same := len(l.path) == len(wanted.path) && l.canonicalURL() == wanted.canonicalURL() // ignores ".git"
		if ok && len(l.path) > length && (same || l.isPrefixOf(wanted)) {
			best, length = r, len(l.path)
		}
	}
	return best, length >= 0
}
