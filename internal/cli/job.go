package cli

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/config"
)

// tokenVariable takes precedence over a job's token.
const tokenVariable = "FAIRLEAD_GIT_TOKEN"

const usernameVariable = "FAIRLEAD_GIT_USERNAME"

type ciJob struct {
	url   string // of the repository; "" outside of a job
	forge config.Forge
	token string // variable name; "" for none
}

// readJob reads GitHub Actions, Gitea Actions, which uses the same names, and GitLab
// CI.
func readJob() ciJob {
	j := ciJob{}
	switch {
	case os.Getenv("GITHUB_REPOSITORY") != "":
		j.url, j.token = cmp.Or(os.Getenv("GITHUB_SERVER_URL"), "https://github.com")+"/"+os.Getenv("GITHUB_REPOSITORY"), "GITHUB_TOKEN"
		j.forge = config.Forge{Kind: "github", API: strings.TrimSuffix(os.Getenv("GITHUB_API_URL"), "/")}
		if os.Getenv("GITEA_ACTIONS") != "" {
			j.forge = config.Forge{Kind: "gitea"} // its API is on the server itself
		}
	case os.Getenv("CI_PROJECT_URL") != "": // GitLab job tokens may not read statuses
		j.url = os.Getenv("CI_PROJECT_URL")
		j.forge = config.Forge{Kind: "gitlab", API: os.Getenv("CI_API_V4_URL")}
	}
	_, j.forge.Host = splitServer(j.url)
	if os.Getenv(tokenVariable) != "" {
		j.token = tokenVariable
	}
	if j.token != "" && os.Getenv(j.token) == "" {
		j.token = ""
	}
	return j
}

func (j ciJob) newSettings(place string) *config.Settings {
	s := &config.Settings{}
	if j.forge.Host != "" {
		s.Forges = append(s.Forges, j.forge)
	}
	scheme, host := splitServer(place)
	ownScheme, own := splitServer(j.url)
	if j.token != "" && host != "" && (j.token == tokenVariable || scheme == ownScheme && host == own) {
		s.Remotes = append(s.Remotes, config.Remote{URL: place, Username: envCredentials().Username, Token: &config.SecretRef{Env: j.token}})
	}
	return s
}

func splitServer(place string) (scheme, host string) {
	u, err := url.Parse(place)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return "", ""
	}
	return u.Scheme, u.Host
}

func writeJobOutput(outputs ...[2]string) error {
	var b strings.Builder
	for _, o := range outputs {
		fmt.Fprintf(&b, "%s=%s\n", o[0], text.OneLine(o[1]))
	}
	return appendJobFile("GITHUB_OUTPUT", "the outputs of the step", b.String())
}

func appendJobFile(variable, what, text string) error {
	file := os.Getenv(variable)
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	if _, err := f.WriteString(text); err != nil {
		_ = f.Close()
		return fmt.Errorf("write %s: %w", what, err)
	}
	return f.Close()
}
