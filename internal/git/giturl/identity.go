package giturl

import (
	"net"
	"net/url"
	"path"
	"path/filepath"
	"strings"
)

// Identity decides whether two locations may be one repository. It is coarser than [Normalize]:
// forges ignore case, and one server may have several ports.
type Identity struct {
	Host string // lower case, no port; "" for a local path
	Path string // lower case if Host is set
	port string // of an HTTP server, unless standard
	ssh  bool
}

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

// Same reports whether two identities may be one repository. An SSH location matches any port of
// its host.
func (i Identity) Same(other Identity) bool {
	return i.Host == other.Host && i.Path == other.Path && (i.port == other.port || i.ssh || other.ssh)
}

// IsPrefixOf reports whether i is a prefix of other, by whole path segments, or equal.
func (i Identity) IsPrefixOf(other Identity) bool {
	if i.Path != "" && i.Path != "/" && i.Path != other.Path && !strings.HasPrefix(other.Path, strings.TrimSuffix(i.Path, "/")+"/") {
		return false
	}
	other.Path = i.Path
	return i.Same(other)
}

// SameServer reports whether two URLs have the same host and HTTP port.
func SameServer(a, b string) bool {
	x, y := Identify(a), Identify(b)
	return x.Host != "" && x.Host == y.Host && x.port == y.port
}

// String returns equal texts for equal identities.
func (i Identity) String() string {
	if i.port != "" {
		return i.Host + ":" + i.port + "/" + i.Path
	}
	return i.Host + "/" + i.Path
}
