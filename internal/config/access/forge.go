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

// ForgeLocation is what answers at a place.
type ForgeLocation struct {
	Kind string // "git", "github", "gitlab" or "gitea"
	// API is where its API is: of GitHub and GitLab the URL of the API, of Gitea that
	// of the server; "" for Git.
	API  string
	Repo string // the path of the repository on the server: "owner/name"
}

// LocateForge returns the forge at a place: what the settings say, or what everybody knows.
// The error is an UnknownForge if neither does.
func LocateForge(settings *config.Settings, place string) (ForgeLocation, error) {
	host := hostOf(place)
	for _, f := range settings.Forges {
		if strings.EqualFold(f.Host, host) {
			return newForgeLocation(f.Kind, f.API, place), nil
		}
	}
	switch {
	case host == "": // a path, or SSH without a setting: Git alone
		return newForgeLocation("git", "", place), nil
	case host == "github.com":
		return newForgeLocation("github", "", place), nil
	case host == "gitlab.com":
		return newForgeLocation("gitlab", "", place), nil
	}
	return ForgeLocation{}, &UnknownForge{host}
}

// newForgeLocation fills in where the API is if the settings do not say it.
func newForgeLocation(kind, api, place string) ForgeLocation {
	f := ForgeLocation{Kind: kind, Repo: pathOf(place)}
	switch kind {
	case "github":
		f.API = cmp.Or(api, "https://api.github.com")
	case "gitlab":
		f.API = cmp.Or(api, serverOf(place)+"/api/v4")
	case "gitea":
		f.API = cmp.Or(api, serverOf(place))
	}
	return f
}

// hostOf returns the host of an http URL, with its port, in lower case; for SSH only
// that of forges that everybody knows; "" for all else.
func hostOf(place string) string {
	normal, _, _ := strings.Cut(giturl.Normalize(place), "/")
	u, err := url.Parse(place)
	switch {
	case err == nil && (u.Scheme == "http" || u.Scheme == "https"):
		return strings.ToLower(u.Host)
	case giturl.IsRemote(place) && (normal == "github.com" || normal == "gitlab.com"):
		return normal
	}
	return ""
}

// serverOf returns the beginning of a place's URL, up to the host.
func serverOf(place string) string {
	u, err := url.Parse(place)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		host, _, _ := strings.Cut(giturl.Normalize(place), "/")
		return "https://" + host
	}
	return u.Scheme + "://" + u.Host
}

// pathOf returns the path of a repository on its host: "owner/name".
func pathOf(place string) string {
	_, p, _ := strings.Cut(giturl.Normalize(place), "/")
	return p
}
