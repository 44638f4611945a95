package access

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// UnknownForge is the error for a host with an unknown kind of forge.
type UnknownForge struct{ Host string }

// Error names the host.
func (u *UnknownForge) Error() string {
	return fmt.Sprintf("the settings do not say what kind of forge %s is", u.Host)
}

// Hint returns the setting to write.
func (u *UnknownForge) Hint() string {
	return fmt.Sprintf("write forges: [{host: %s, kind: …}] into the settings; kind git proposes by branches alone, on any host", u.Host)
}

// ForgeLocation is the forge of a repository.
type ForgeLocation struct {
	Kind string // "git", "github", "gitlab" or "gitea"
	// API is the URL of GitHub's or GitLab's API, or of the Gitea server; "" for Git.
	API  string
	Repo string // path on the server: "owner/name"
}

// LocateForge returns the forge at a location, by the settings or a well-known host. The error is
// an UnknownForge.
func LocateForge(settings *config.Settings, location string) (ForgeLocation, error) {
	host := hostOf(location)
	for _, f := range settings.Forges {
		if strings.EqualFold(f.Host, host) {
			return newForgeLocation(f.Kind, f.API, location), nil
		}
	}
	switch {
	case host == "":
		return newForgeLocation("git", "", location), nil
	case host == "github.com":
		return newForgeLocation("github", "", location), nil
	case host == "gitlab.com":
		return newForgeLocation("gitlab", "", location), nil
	}
	return ForgeLocation{}, &UnknownForge{host}
}

func newForgeLocation(kind, api, location string) ForgeLocation {
	_, repo, _ := strings.Cut(giturl.Normalize(location), "/")
	f := ForgeLocation{Kind: kind, Repo: repo}
	switch kind {
	case "github":
		f.API = cmp.Or(api, "https://api.github.com")
	case "gitlab":
		f.API = cmp.Or(api, serverOf(location)+"/api/v4")
	case "gitea":
		f.API = cmp.Or(api, serverOf(location))
	}
	return f
}

// hostOf returns the lower-case host and port of an http URL, the host of a well-known forge for
// SSH, and "" otherwise.
func hostOf(location string) string {
	normal, _, _ := strings.Cut(giturl.Normalize(location), "/")
	u, err := url.Parse(location)
	switch {
	case err == nil && (u.Scheme == "http" || u.Scheme == "https"):
		return strings.ToLower(u.Host)
	case giturl.IsRemote(location) && (normal == "github.com" || normal == "gitlab.com"):
		return normal
	}
	return ""
}

func serverOf(location string) string {
	u, err := url.Parse(location)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		host, _, _ := strings.Cut(giturl.Normalize(location), "/")
		return "https://" + host
	}
	return u.Scheme + "://" + u.Host
}
