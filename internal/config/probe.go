package config

import (
	"fmt"
	"net/url"
	"strings"
)

// Probe returns the probe with the longest URL that an address begins with, segment by
// segment, with the same scheme, host and port. It returns false if there is none, or the
// address is ambiguous: one with a user, with ".." or an encoded slash in its path has no probe.
func (s *Settings) Probe(address string) (Probe, bool) {
	wanted, ok := locateProbe(address)
	best, length := Probe{}, -1
	if !ok {
		return best, false
	}
	for _, p := range s.Probes {
		if l, ok := locateProbe(p.URL); ok && len(l.path) > length && l.leads(wanted) {
			best, length = p, len(l.path)
		}
	}
	return best, length >= 0
}

// locateProbe parses a URL of http or https.
func locateProbe(text string) (location, bool) {
	u, err := url.Parse(text)
	// A server may read %2e%2e or a second encoding as something else than we do.
	if err != nil || u.User != nil || u.Opaque != "" || strings.ContainsAny(u.Path, "%\\") {
		return location{}, false
	}
	l, ok := locate(text)
	return l, ok && strings.HasPrefix(l.scheme, "http")
}

func (c *checker) probes(probes []Probe) {
	seen := map[string]bool{}
	for i, p := range probes {
		path := fmt.Sprintf("probes[%d]", i)
		c.secret(path+".token", p.Token)
		if p.URL == "" {
			continue
		}
		l, ok := c.probeURL(path+".url", p.URL)
		if !ok {
			continue
		}
		key := l.scheme + "://" + l.host + ":" + l.port + "/" + strings.Join(l.path, "/")
		if seen[key] {
			c.addf(path+".url", "remove one of them", "another probe has this URL")
		}
		seen[key] = true
		if p.Token != nil && l.clear() {
			c.warnf(path+".url", "use https", "the token is sent in the clear")
		}
	}
}

// probeURL parses the URL of a probe. It reports a URL that no address can begin with, and one
// that has a secret in it, and returns false.
func (c *checker) probeURL(path, value string) (location, bool) {
	u, err := url.Parse(value)
	if err == nil && u.User != nil {
		c.addf(path, "take it out, and say in token where it is; change it if others have seen this file", "a secret cannot be in the settings, but this URL has a user or password")
		return location{}, false
	}
	l, ok := locateProbe(value)
	if !ok || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		c.addf(path, "write it as in https://metrics.example.com/api, without a query", "is not what URLs of http or https begin with")
		return location{}, false
	}
	return l, true
}
