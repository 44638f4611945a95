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
	wanted, ok := parseProbeLocation(address)
	best, length := Probe{}, -1
	if !ok {
		return best, false
	}
	for _, p := range s.Probes {
		if l, ok := parseProbeLocation(p.URL); ok && len(l.path) > length && l.isPrefixOf(wanted) {
			best, length = p, len(l.path)
		}
	}
	return best, length >= 0
}

// parseProbeLocation parses a URL of http or https.
func parseProbeLocation(text string) (remoteLocation, bool) {
	u, err := url.Parse(text)
	// A server may read %2e%2e or a second encoding as something else than we do.
	if err != nil || u.User != nil || u.Opaque != "" || strings.ContainsAny(u.Path, "%\\") {
		return remoteLocation{}, false
	}
	l, ok := parseLocation(text)
	return l, ok && strings.HasPrefix(l.scheme, "http")
}

func (c *checker) checkProbes(probes []Probe) {
	seen := map[string]bool{}
	for i, p := range probes {
		path := fmt.Sprintf("probes[%d]", i)
		c.checkSecret(path+".token", p.Token)
		if p.URL == "" {
			continue
		}
		l, ok := c.parseProbeURL(path+".url", p.URL)
		if !ok {
			continue
		}
		key := l.scheme + "://" + l.host + ":" + l.port + "/" + strings.Join(l.path, "/")
		if seen[key] {
			c.addProblem(path+".url", "remove one of them", "another probe has this URL")
		}
		seen[key] = true
		if p.Token != nil && l.isUnencrypted() {
			c.addWarning(path+".url", "use https", "the token is sent unencrypted")
		}
	}
}

// parseProbeURL parses the URL of a probe. It reports a URL that no address can begin with, and one
// that has a secret in it, and returns false.
func (c *checker) parseProbeURL(path, value string) (remoteLocation, bool) {
	u, err := url.Parse(value)
	if err == nil && u.User != nil {
		c.addProblem(path, "remove it, name a file or an environment variable under token, and rotate the secret if others have seen this file", "must not contain a user or password: secrets do not belong in the settings")
		return remoteLocation{}, false
	}
	l, ok := parseProbeLocation(value)
	if !ok || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		c.addProblem(path, urlHint(value, "write it as in https://metrics.example.com/api, without a query"), "is not an http or https URL prefix")
		return remoteLocation{}, false
	}
	return l, true
}
