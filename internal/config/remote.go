package config

import "fmt"

const (
	// defaultUsername is GitHub's; GitLab and Gitea accept any name with a token.
	defaultUsername = "x-access-token"
	defaultAPI      = "https://api.github.com"
)

func (c *checker) checkRemotes(remotes []Remote) {
	seen := map[string]bool{}
	for i := range remotes {
		path, r := fmt.Sprintf("remotes[%d]", i), &remotes[i]
		c.checkCredentials(path, r)
		if r.URL == "" {
			continue
		}
		l, ok := c.parseRemoteURL(path+".url", r.URL)
		if !ok {
			continue
		}
		if seen[l.canonicalURL()] {
			c.addProblem(path+".url", "remove one of them", "another remote has this URL")
		}
		seen[l.canonicalURL()] = true
		switch {
		case l.scheme == "ssh" && (r.Token != nil || r.GitHubApp != nil):
			c.addProblem(path+".url", "write an https:// URL, or ssh: {key: {file: PATH}}", "a token is not for ssh")
		case l.scheme != "ssh" && r.SSH != nil:
			c.addProblem(path+".url", "write ssh://USER@HOST/, or token: {file: PATH}", "an SSH key is not for %s", l.scheme)
		case l.isUnencrypted():
			c.addWarning(path+".url", "use https", "the token is sent unencrypted")
		}
	}
}

func (c *checker) checkCredentials(path string, r *Remote) {
	n := 0
	for _, key := range []string{".token", ".githubApp", ".ssh"} {
		if c.isGiven(path + key) {
			n++
		}
	}
	if n != 1 && c.isGiven(path) && !c.isBroken(path) {
		c.addProblem(path, "write one of them", "should have one of token, githubApp and ssh, but has %d", n)
	}
	c.checkSecret(path+".token", r.Token)
	switch {
	case r.Token != nil && r.Username == "":
		r.Username = defaultUsername
	case r.Token == nil && r.Username != "":
		c.addProblem(path+".username", "remove it", "a user name goes with a token only")
	}
	if r.GitHubApp != nil {
		c.checkGitHubApp(path+".githubApp", r.GitHubApp)
	}
	if r.SSH != nil {
		c.checkSecret(path+".ssh.key", &r.SSH.Key)
		c.checkSecret(path+".ssh.passphrase", r.SSH.Passphrase)
		if c.resolvePath(path+".ssh.knownHosts", &r.SSH.KnownHosts) {
			c.checkReadable(path+".ssh.knownHosts", r.SSH.KnownHosts)
		}
	}
}

func (c *checker) checkGitHubApp(path string, app *GitHubApp) {
	for key, id := range map[string]int64{".id": app.ID, ".installation": app.Installation} {
		if c.isGiven(path+key) && !c.isBroken(path+key) && id <= 0 {
			c.addProblem(path+key, "GitHub shows it in the settings of the App", "%d is not an id", id)
		}
	}
	c.checkSecret(path+".key", &app.Key)
	c.checkAPI(path+".api", app.API)
	if app.API == "" {
		app.API = defaultAPI
	}
}
