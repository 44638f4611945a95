package metrics

import (
	"net/url"
	"strings"
)

// hostLabel returns the label of a remote or a forge. Callers pass the name of a host;
// what is passed by mistake (a URL with a token, a folder) must not become a
// label, so only the host is kept, and "local" if there is none.
func hostLabel(remote string) string {
	if strings.Contains(remote, "://") {
		u, err := url.Parse(remote)
		if err != nil || u.Hostname() == "" {
			return "local"
		}
		return safeLabel(strings.ToLower(u.Hostname()))
	}
	if strings.HasPrefix(remote, "/") || strings.HasPrefix(remote, ".") {
		return "local"
	}
	name, _, _ := strings.Cut(remote, "/")
	name = name[strings.LastIndexByte(name, '@')+1:]
	name, _, _ = strings.Cut(name, ":")
	if name == "" {
		return "local"
	}
	return safeLabel(strings.ToLower(name))
}

// safeLabel makes a name safe: the library panics on a label that is not UTF-8, which
// a host of a URL in the control plane need not be.
func safeLabel(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }
