package config

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

func (c *checker) checkNetwork(n Network) {
	for i, entry := range n.Allow {
		if filepath.IsAbs(entry) {
			continue
		}
		host, port := splitHost(entry)
		if host == "" || strings.Trim(port, "0123456789") != "" || strings.ContainsAny(host, "/@?# ") {
			c.addProblem(fmt.Sprintf("network.allow[%d]", i), "write git.localhost:3000, or /srv/workloads", "%q is neither a host nor the absolute path of a folder", entry)
		}
	}
}

func splitHost(entry string) (host, port string) {
	host, port, err := net.SplitHostPort(entry)
	if err != nil {
		host, port = strings.Trim(entry, "[]"), ""
	}
	return strings.ToLower(host), port
}

func hostAndPort(place string) (host, port string) {
	if l, ok := parseLocation(strings.TrimSpace(place)); ok {
		return l.host, l.port
	}
	u, err := url.Parse(place)
	if err != nil {
		return "", ""
	}
	return strings.ToLower(u.Hostname()), u.Port()
}

// NamesRepository reports whether the settings name a repository's host and port, or a folder that
// contains it. Other repositories are named only by the control plane.
func (s *Settings) NamesRepository(place string) bool {
	named := []string{s.ControlPlane.Repo}
	for _, to := range s.Map {
		named = append(named, to)
	}
	for _, d := range s.Output.Allow {
		named = append(named, d.Repo)
	}
	if !giturl.IsRemote(place) {
		return s.namesFolder(place, named)
	}
	for _, r := range s.Remotes {
		named = append(named, r.URL)
	}
	host, port := hostAndPort(place)
	for _, url := range named {
		if h, p := hostAndPort(url); giturl.IsRemote(url) && h == host && p == port {
			return true
		}
	}
	hosts := slices.Clone(s.Network.Allow)
	for _, f := range s.Forges {
		hosts = append(hosts, f.Host)
	}
	for _, entry := range hosts {
		if h, p := splitHost(entry); h == host && (p == "" || p == port) {
			return true
		}
	}
	return false
}

func (s *Settings) namesFolder(place string, named []string) bool {
	folder := giturl.Identify(place)
	if !giturl.IsRemote(s.ControlPlane.Repo) {
		named = append(named, filepath.Dir(giturl.Identify(s.ControlPlane.Repo).Path))
	}
	for _, entry := range slices.Concat(named, s.Network.Allow) {
		if filepath.IsAbs(giturl.LocalPath(entry)) && giturl.Identify(entry).IsPrefixOf(folder) {
			return true
		}
	}
	return false
}
