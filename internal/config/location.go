package config

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// remoteLocation is a URL of a remote, taken apart so that it can be compared: host:path as
// ssh:// has it, the host in lower case, the port always there. The user does not
// count.
type remoteLocation struct {
	scheme, host, port string
	path               []string // segments; none is empty, "." or ".."
}

// scpLike is user@host:path, as ssh users write it. The path may be missing, since
// that is good for a prefix.
var scpLike = regexp.MustCompile(`^(?:[^@:/\s]+@)?([^@:/\s]+):([^@]*)$`)

var standardPorts = map[string]string{"https": "443", "http": "80", "ssh": "22"}

// parseLocation parses a URL. It returns false if the URL is not of a kind that Fairlead can reach, or
// its path is ambiguous.
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

// isPrefixOf reports whether l is a prefix of m, segment by segment.
func (l remoteLocation) isPrefixOf(m remoteLocation) bool {
	return l.scheme == m.scheme && l.host == m.host && l.port == m.port &&
		len(l.path) <= len(m.path) && slices.Equal(l.path, m.path[:len(l.path)])
}

// canonicalURL returns a URL that is equal for equal locations.
func (l remoteLocation) canonicalURL() string {
	return l.scheme + "://" + l.host + ":" + l.port + "/" + strings.TrimSuffix(strings.Join(l.path, "/"), ".git")
}

// isUnencrypted reports whether what is sent there can be read on the way: plain HTTP to another machine.
func (l remoteLocation) isUnencrypted() bool {
	return giturl.IsUnencrypted(l.scheme + "://" + net.JoinHostPort(l.host, l.port))
}

// Remote returns the remote with the longest URL that url begins with, segment by segment, with
// the same scheme, host and port. It returns false if there is none, or url is not that of a
// remote.
func (s *Settings) Remote(url string) (Remote, bool) {
	wanted, ok := parseLocation(strings.TrimSpace(url))
	best, length := Remote{}, -1
	if !ok {
		return best, false
	}
	for _, r := range s.Remotes {
		l, ok := parseLocation(r.URL)
		same := len(l.path) == len(wanted.path) && l.canonicalURL() == wanted.canonicalURL() // but for ".git"
		if ok && len(l.path) > length && (same || l.isPrefixOf(wanted)) {
			best, length = r, len(l.path)
		}
	}
	return best, length >= 0
}
