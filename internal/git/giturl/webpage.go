package giturl

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

var (
	webPage  = regexp.MustCompile(`^https?://[0-9A-Za-z.-]+(:[0-9]+)?(/[0-9A-Za-z._~-]+)+$`)
	commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// CommitPage returns the forge's page of a commit, or "" if location is not a web URL.
func CommitPage(location, commit string) string {
	if !webPage.MatchString(location) || !commitID.MatchString(commit) {
		return ""
	}
	return strings.TrimSuffix(location, ".git") + "/commit/" + commit
}

// FilePage returns the forge's page of a line (0 for the whole file), or "" if the host's name does
// not show the kind of forge.
func FilePage(location, commit, file string, line int) string {
	if CommitPage(location, commit) == "" || file == "" {
		return ""
	}
	host := hostName(strings.SplitN(location, "/", 4)[2])
	folder := ""
	switch {
	case strings.Contains(host, "github"), strings.Contains(host, "gitlab"):
		folder = "/blob/"
	case strings.Contains(host, "gitea"), strings.Contains(host, "forgejo"), host == "codeberg.org":
		folder = "/src/commit/"
	default:
		return ""
	}
	page := strings.TrimSuffix(location, ".git") + folder + commit + (&url.URL{Path: "/" + file}).EscapedPath()
	if line > 0 {
		page += fmt.Sprintf("#L%d", line)
	}
	return page
}
