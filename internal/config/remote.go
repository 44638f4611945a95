package config

import "fmt"

const (
	// defaultUsername is what GitHub asks for; GitLab and Gitea take any with a token.
	defaultUsername = "x-access-token"
	defaultAPI      = "https://api.github.com"
)

func (c *checker) remotes(remotes []Remote) {
	seen := map[string]bool{}
	for i := range remotes {
		path, r := fmt.Sprintf("remotes[%d]", i), &remotes[i]
		c.ways(path, r)
		if r.URL == "" {
			continue
		}
		l, ok := c.remoteURL(path+".url", r.URL)
		if !ok {
			continue
		}
		if seen[l.key()] {
			c.addf(path+".url", "remove one of them", "another remote has this URL")
		}
		seen[l.key()] = true
		c.fits(path, l, r)
	}
}

// ways checks that a remote has one kind of credential, and fills in its defaults.
func (c *checker) ways(path string, r *Remote) {
	n := 0
	for _, key := range []string{".token", ".githubApp", ".ssh"} {
		if c.given(path + key) {
			n++
		}
	}
	if n != 1 && c.given(path) && !c.broken(path) {
		c.addf(path, "write one of them", "should have one of token, githubApp and ssh, but has %d", n)
	}
	c.secret(path+".token", r.Token)
	switch {
	case r.Token != nil && r.Username == "":
		r.Username = defaultUsername
	case r.Token == nil && r.Username != "":
		c.addf(path+".username", "remove it", "a user name goes with a token only")
	}
	if r.GitHubApp != nil {
		c.gitHubApp(path+".githubApp", r.GitHubApp)
	}
	if r.SSH != nil {
		c.secret(path+".ssh.key", &r.SSH.Key)
		c.secret(path+".ssh.passphrase", r.SSH.Passphrase)
		if c.path(path+".ssh.knownHosts", &r.SSH.KnownHosts) {
			c.readable(path+".ssh.knownHosts", r.SSH.KnownHosts)
		}
	}
}

func (c *checker) gitHubApp(path string, app *GitHubApp) {
	for key, id := range map[string]int64{".id": app.ID, ".installation": app.Installation} {
		if c.given(path+key) && !c.broken(path+key) && id <= 0 {
			c.addf(path+key, "GitHub shows it in the settings of the App", "%d is not an id", id)
		}
	}
	c.secret(path+".key", &app.Key)
	c.api(path+".api", app.API)
	if app.API == "" {
		app.API = defaultAPI
	}
}

// fits checks that the credential is one that the URL's scheme can carry.
func (c *checker) fits(path string, l location, r *Remote) {
	switch {
	case l.scheme == "ssh" && (r.Token != nil || r.GitHubApp != nil):
		c.addf(path+".url", "write an https:// URL, or ssh: {key: {file: PATH}}", "a token is not for ssh")
	case l.scheme != "ssh" && r.SSH != nil:
		c.addf(path+".url", "write ssh://USER@HOST/, or token: {file: PATH}", "an SSH key is not for %s", l.scheme)
	case l.clear():
		c.warnf(path+".url", "use https", "the token is sent in the clear")
	}
}
