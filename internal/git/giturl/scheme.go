package giturl

import (
	"regexp"
	"strings"
)

// withoutScheme matches HOST/PATH and HOST:PORT, as browsers take them.
var withoutScheme = regexp.MustCompile(`^((?:[A-Za-z0-9-]+\.)+[A-Za-z0-9-]*[A-Za-z][A-Za-z0-9-]*|localhost|[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+|[A-Za-z0-9.-]+:[0-9]+)(:[0-9]+)?(/.*)?$`)

// GuessURL returns the URL that was probably meant by a text without a scheme, such as
// git.example.com/team/fleet or localhost:3000/team/fleet; "" if the text is not like one. It may be
// the path of a folder all the same.
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

// GuessRepositoryURL is GuessURL for the location of a repository, which has a path.
func GuessRepositoryURL(location string) string {
	_, path, ok := strings.Cut(location, "/")
	if !ok || path == "" {
		return ""
	}
	return GuessURL(location)
}
