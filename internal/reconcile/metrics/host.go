package metrics

import (
	"net/url"
	"strings"
)

// hostLabel returns the host of a remote or forge as a label, or "local". It drops the rest,
// because a URL with a token must never become a label.
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

// safeLabel replaces invalid UTF-8, on which the library panics. Hosts in the control plane's URLs
// may contain it.
func safeLabel(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }
