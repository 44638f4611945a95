package giturl

import (
	"regexp"
	"strings"
)

var withoutScheme = regexp.MustCompile(`^((?:[A-Za-z0-9-]+\.)+[A-Za-z0-9-]*[A-Za-z][A-Za-z0-9-]*|localhost|[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+|[A-Za-z0-9.-]+:[0-9]+)(:[0-9]+)?(/.*)?$`)

// GuessURL returns the likely URL of a text without a scheme, such as localhost:3000/team/fleet, or
// "". The text may still be a local path.
func GuessURL(text string) string {
	match := withoutScheme.FindStringSubmatch(text)
	if match == nil {
		return ""
	}
	host, _, hasPort := strings.Cut(match[1]+match[2], ":")
	if host == "localhost" || strings.HasPrefix(host, "127.") || hasPort {
		return "http://" + text
	}
	return "https://" + text
}

// GuessRepositoryURL is GuessURL, but requires a path.
func GuessRepositoryURL(location string) string {
	_, path, ok := strings.Cut(location, "/")
	if !ok || path == "" {
		return ""
	}
	return GuessURL(location)
}
