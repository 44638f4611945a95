package access

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// UnknownForge is the error for a host whose kind of forge is not known.
type UnknownForge struct{ Host string }

// Error names the host.
func (u *UnknownForge) Error() string {
	return fmt.Sprintf("the settings do not say what kind of forge %s is", u.Host)
}

// Hint returns the setting to write.
func (u *UnknownForge) Hint() string {
	return fmt.Sprintf("write forges: [{host: %s, kind: …}] into the settings; kind git proposes by branches alone, on any host", u.Host)
}

// ForgeLocation is what answers at a location.
type ForgeLocation struct {
	Kind string // "git", "github", "gitlab" or "gitea"
	// API is where its API is: of GitHub and GitLab the URL of the API, of Gitea that
	// of the server; "" for Git.
	API  string
	Repo string // the path of the repository on the server: "owner/name"
}

// LocateForge returns the forge at a location: what the settings say, or what is well known.
// The error is an UnknownForge if neither does.
func LocateForge(settings *config.Settings, location string) (ForgeLocation, error) {
	host := hostOf(location)
	for _, f := range settings.Forges {
		if strings.EqualFold(f.Host, host) {
			return newForgeLocation(f.Kind, f.API, location), nil
		}
	}
	switch {
	case host == "": // a path, or SSH without a setting: Git alone
		return newForgeLocation("git", "", location), nil
	case host == "github.com":
		return newForgeLocation("github", "", location), nil
	case host == "gitlab.com":
		return newForgeLocation("gitlab", "", location), nil
	}
	return ForgeLocation{}, &UnknownForge{host}
}

// newForgeLocation fills in where the API is if the settings do not say it.
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

// hostOf returns the host of an http URL, with its port, in lower case; for SSH only
// that of well-known forges; "" for all else.
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

// serverOf returns the beginning of a location's URL, up to the host.
func serverOf(location string) string {
	u, err := url.Parse(location)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		host, _, _ := strings.Cut(giturl.Normalize(location), "/")
		return "https://" + host
	}
	return u.Scheme + "://" + u.Host
}
