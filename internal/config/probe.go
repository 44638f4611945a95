package config

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/cost"
)

// Probe returns the probe with the longest URL that is a prefix of an address, by whole segments,
// with the same scheme, host and port. Ambiguous addresses have none: those with a user, "..", or
// an encoded slash.
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

func parseProbeLocation(text string) (remoteLocation, bool) {
	u, err := url.Parse(text)
	// Servers may decode %2e%2e or a double encoding differently.
	if err != nil || u.User != nil || u.Opaque != "" || strings.ContainsAny(u.Path, "%\\") {
		return remoteLocation{}, false
	}
	l, ok := parseLocation(text)
	return l, ok && strings.HasPrefix(l.scheme, "http")
}

func checkCosts(c *checker, costs *Costs) {
	if c.isGiven("costs.expression") && !c.isBroken("costs.expression") {
		compiled, err := cost.CompileExpression(costs.Expression)
		if err != nil {
			c.addProblem("costs.expression", `write CEL over cost, such as {"currency": "EUR", "before": cost.old, "after": cost.new}`, "%v", err)
		}
		costs.compiled = compiled
	}
	if costs.Limit != nil && !c.isBroken("costs.limit") {
		if hint, sentence := costs.Limit.Check(); sentence != "" {
			c.addProblem("costs.limit", hint, "%s", sentence)
		}
	}
}

const defaultFeedsEvery = 5 * time.Minute

func checkFeeds(c *checker, f *Feeds) {
	for i, entry := range f.Allow {
		host, _, _ := strings.Cut(entry, "/")
		if host == "" || strings.Contains(entry, "://") || strings.ContainsAny(entry, "@?# *") {
			c.addProblem(fmt.Sprintf("feeds.allow[%d]", i), "write ghcr.io/shop, or charts.example.com", "%q is not a host, or a host with the beginning of a path", entry)
		}
	}
	if !c.isGiven("feeds.every") {
		f.Every = defaultFeedsEvery
	}
	c.checkLeast("feeds.every", f.Every)
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
