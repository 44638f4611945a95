package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
)

var forgeKinds = []string{"github", "gitlab", "gitea", "git"}

// publicForges are forges by host that need no flag.
var publicForges = map[string]string{"github.com": "github", "gitlab.com": "gitlab"}

// serverSettings returns credentials and forges of the repositories' servers; nil for
// local repositories and SSH, which uses the user's keys.
func (i *initCommand) serverSettings() ([]scaffold.Remote, []scaffold.Forge, error) {
	if i.forge != "" && !slices.Contains(forgeKinds, i.forge) {
		return nil, nil, usageErrorf(problem.DidYouMean(i.forge, forgeKinds), "--forge %s: the kinds are %s", i.forge, text.Join(forgeKinds, " and "))
	}
	var forges []scaffold.Forge
	var urls []string
	for _, location := range []string{i.options.ControlPlane, i.options.GitOps} {
		scheme, host := splitServer(location)
		if host == "" {
			if i.forge != "" && i.forge != "git" {
				return nil, nil, usageErrorf("name both with --control-plane and --gitops, as in https://HOST/OWNER/NAME", "--forge %s needs the https URLs of its repositories, and %s is none", i.forge, location)
			}
			continue
		}
		urls = append(urls, location)
		forge, err := newForge(i.forge, scheme, strings.ToLower(host))
		if err != nil {
			return nil, nil, err
		}
		if !slices.Contains(forges, forge) {
			forges = append(forges, forge)
		}
	}
	if os.Getenv(tokenVariable) == "" { // the servers accept pushes without a token
		return nil, forges, nil
	}
	var remotes []scaffold.Remote
	for _, url := range commonPrefixes(urls) {
		remotes = append(remotes, scaffold.Remote{URL: url, TokenVariable: tokenVariable, Username: os.Getenv(usernameVariable)})
	}
	return remotes, forges, nil
}

func newForge(kind, scheme, host string) (scaffold.Forge, error) {
	if kind == "" {
		kind = publicForges[host]
	}
	f := scaffold.Forge{Host: host, Kind: kind}
	switch {
	case kind == "":
		return f, usageErrorf("--forge "+text.Join(forgeKinds, " or ")+": Forgejo is gitea, and git proposes by branches alone, on any server", "init does not know what kind of forge %s is", host)
	case kind == "github" && host != "github.com": // GitHub Enterprise Server
		f.API = scheme + "://" + host + "/api/v3"
	}
	return f, nil
}

// commonPrefixes returns the URL of the folder with both repositories, so that the
// token is for nothing else, or each URL.
func commonPrefixes(urls []string) []string {
	if len(urls) != 2 {
		return urls
	}
	a, b := strings.Split(urls[0], "/"), strings.Split(urls[1], "/")
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	if same <= 3 { // only "https:", "" and the host
		return urls
	}
	return []string{strings.Join(a[:same], "/")}
}
