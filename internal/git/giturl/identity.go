package giturl

import (
	"net"
	"net/url"
	"path"
	"path/filepath"
	"strings"
)

// Identity decides whether two locations may be the same repository. It equates more than
// [Normalize]: forges ignore case in paths, and one server answers on several ports.
type Identity struct {
	Host string // without a port, in lower case; "" for a path on this machine
	Path string // in lower case if there is a host
	port string // of an HTTP server, if it is not the usual one
	ssh  bool
}

// otherHosts are further names of well-known forges.
var otherHosts = map[string]string{
	"www.github.com": "github.com", "ssh.github.com": "github.com", "www.gitlab.com": "gitlab.com", "altssh.gitlab.com": "gitlab.com",
}

// Identify returns the identity of a URL or path.
func Identify(location string) Identity {
	location = strings.TrimSpace(location)
	u, err := url.Parse(location)
	m := scpLike.FindStringSubmatch(location)
	switch {
	case err == nil && u.Scheme != "" && u.Host != "":
		id := Identity{Host: hostName(u.Hostname()), Path: repositoryPath(u.Path), ssh: u.Scheme == "ssh"}
		if port := u.Port(); !id.ssh && port != usualPorts[u.Scheme] {
			id.port = port
		}
		return id
	case m != nil && !strings.Contains(location, "://") && IsRemote(location):
		return Identity{Host: hostName(m[1]), Path: repositoryPath(m[2]), ssh: true}
	}
	local := LocalPath(location)
	if full, err := filepath.EvalSymlinks(local); err == nil {
		local = full
	} else if full, err := filepath.EvalSymlinks(local + ".git"); err == nil {
		local = full
	}
	return Identity{Path: withoutGit(filepath.Clean(local))}
}

var usualPorts = map[string]string{"https": "443", "http": "80"}

func hostName(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if known, ok := otherHosts[host]; ok {
		return known
	}
	if ip := net.ParseIP(host); ip != nil {
		return ip.String()
	}
	return host
}

func repositoryPath(p string) string {
	return strings.ToLower(withoutGit(strings.TrimPrefix(path.Clean("/"+p), "/")))
}

func withoutGit(p string) string { return strings.TrimSuffix(strings.TrimSuffix(p, "/.git"), ".git") }

// Same reports whether two identities may be of one repository. Which port of SSH belongs to
// which of HTTP is not known: all of one host count as the same.
func (i Identity) Same(other Identity) bool {
	return i.Host == other.Host && i.Path == other.Path && (i.port == other.port || i.ssh || other.ssh)
}

// IsPrefixOf reports whether i equals other or is a prefix of it, by whole path segments.
func (i Identity) IsPrefixOf(other Identity) bool {
	if i.Path != "" && i.Path != "/" && i.Path != other.Path && !strings.HasPrefix(other.Path, strings.TrimSuffix(i.Path, "/")+"/") {
		return false
	}
	other.Path = i.Path
	return i.Same(other)
}

// SameServer reports whether two URLs are of one server: the same host and, over HTTP, port.
func SameServer(a, b string) bool {
	x, y := Identify(a), Identify(b)
	return x.Host != "" && x.Host == y.Host && x.port == y.port
}

// String returns a text that is equal for equal identities.
func (i Identity) String() string {
	if i.port != "" {
		return i.Host + ":" + i.port + "/" + i.Path
	}
	return i.Host + "/" + i.Path
}
