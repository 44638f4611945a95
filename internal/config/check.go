package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/gitname"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/git/sign"
)

type checker struct {
	*reader
	dir string
	env func(string) string
}

const maxParallel = 64

func (c *checker) checkSettings(s *Settings) {
	c.checkRepository("controlPlane.repo", &s.ControlPlane.Repo)
	c.checkBranch("controlPlane.branch", s.ControlPlane.Branch)
	c.checkEnvironments(s.Environments)
	c.checkListen(s.Listen)
	c.checkSchedule(&s.Schedule)
	if c.isGiven("overdueAfter") {
		c.checkLeast("overdueAfter", s.OverdueAfter)
	} else { // three polls, and at least a remote's longest pause
		s.OverdueAfter = max(leastOverdue, 3*s.Schedule.Interval)
	}
	c.checkLeast("timeout", s.Timeout)
	c.checkLeast("renderTimeout", s.RenderTimeout)
	if (s.Parallel < 1 || s.Parallel > maxParallel) && !c.isBroken("parallel") {
		c.addProblem("parallel", "4 is the default", "%d is not from 1 to %d", s.Parallel, maxParallel)
	}
	if _, ok := parsePercentage(s.Verify); !ok && !c.isBroken("verify") {
		c.addProblem("verify", "1% is the default, 0% is never", "%q is not a percentage", s.Verify)
	}
	c.checkBranch("output.branchPrefix", s.Output.BranchPrefix+"environment")
	c.checkOneOf("output.retired", s.Output.Retired, "remove", "keep")
	if s.Output.VerifiedCommits && !slices.ContainsFunc(s.Remotes, func(r Remote) bool { return r.GitHubApp != nil }) {
		c.addProblem("output.verifiedCommits", "add a remote with githubApp, or leave it out", "needs a GitHub App, and there is none in remotes")
	}
	c.checkDestinations(s.Output.Allow)
	c.checkNetwork(s.Network)
	for i, name := range s.Hosts {
		if host, port := splitHost(name); port != "" || strings.ContainsAny(host, "/@?# ") {
			c.addProblem(fmt.Sprintf("hosts[%d]", i), "write the name alone, as in fairlead.example.com", "%q is not the name of a host", name)
		}
	}
	c.checkRemotes(s.Remotes)
	c.checkForges(s.Forges)
	c.checkMap(s.Map)
	c.fillDataDir(s)
	c.checkOneOf("promotion", s.Promotion, "managed", "external")
	c.checkOneOf("missingValues", s.MissingValues, "refuse", "publish")
	c.checkNextEnvironment(s.NextEnvironment)
	for _, name := range slices.Sorted(maps.Keys(s.Merge)) {
		c.checkOneOf("merge."+name, s.Merge[name], "manual", "when-green", "direct")
	}
	c.checkSigning(s.Signing)
	c.checkTrustedSigners(&s.TrustedSigners)
	c.checkIdentity("author.name", s.Author.Name)
	c.checkIdentity("author.email", s.Author.Email)
	c.checkWebhooks(s)
	c.checkLedger(&s.Ledger)
	checkReplicas(c, s)
	c.checkWeb(s)
	c.checkProbes(s.Probes)
	checkCosts(c, &s.Costs)
	checkFeeds(c, &s.Feeds)
	c.checkSchedulers(s.Schedulers)
	if c.isGiven("scheduling.stale") {
		c.checkLeast("scheduling.stale", s.Scheduling.Stale)
	}
	checkInventories(c, s.Inventories)
	c.checkOneOf("log.format", s.Log.Format, "text", "json")
	c.checkOneOf("log.level", s.Log.Level, "info", "debug")
}

func (c *checker) checkEnvironments(names []string) {
	if c.isGiven("environments") && !c.isBroken("environments") && len(names) == 0 {
		c.addProblem("environments", "leave it out for all of the control plane", "names no environment")
	}
	for i, name := range names {
		path := fmt.Sprintf("environments[%d]", i)
		c.checkBranch(path, name)
		if slices.Index(names, name) < i && !c.isBroken(path) {
			c.addProblem(path, "remove one of them", "%s is named twice", name)
		}
	}
}

func (c *checker) checkNextEnvironment(next map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(next)) {
		path := joinPath("nextEnvironment", name)
		c.checkBranch(path, name)
		c.checkBranch(path, next[name])
		if next[name] == name {
			c.addProblem(path, "name the one that gets its commits after it, or remove the line", "%s comes after itself", name)
		}
	}
}

func (c *checker) checkBranch(path, name string) {
	if c.isGiven(path) && !c.isBroken(path) && gitname.CheckBranch(name) != nil {
		c.addProblem(path, gitname.BranchHint, "is not a valid branch name")
	}
}

// fillDataDir fills in systemd's folder, or a folder of the user for this control plane only.
func (c *checker) fillDataDir(s *Settings) {
	dir := &s.DataDir
	if c.isGiven("dataDir") {
		c.resolvePath("dataDir", dir)
		return
	}
	first, _, _ := strings.Cut(c.env("STATE_DIRECTORY"), string(filepath.ListSeparator))
	state, home := c.env("XDG_STATE_HOME"), c.env("HOME")
	switch {
	case first != "":
		*dir = first
	case filepath.IsAbs(state):
		*dir = fleetDir(filepath.Join(state, "fairlead"), s)
	case home != "":
		*dir = fleetDir(filepath.Join(home, ".local", "state", "fairlead"), s)
	default:
		c.addProblem("dataDir", "write dataDir: /var/lib/fairlead", "is required where none of STATE_DIRECTORY, XDG_STATE_HOME and HOME is set")
	}
}

// fleetDir returns a control plane's folder below that of all fleets. The latter was once the
// default: a control plane whose mirror is there keeps it.
func fleetDir(all string, s *Settings) string {
	for _, place := range []string{s.ControlPlane.Repo, s.Map[s.ControlPlane.Repo]} {
		if place == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(all, "git", giturl.FolderName(place))); err == nil {
			return all
		}
	}
	return filepath.Join(all, giturl.FolderName(s.ControlPlane.Repo))
}

// resolvePath makes a path absolute; "" stays. It returns false for a path that only a shell
// understands.
func (c *checker) resolvePath(path string, p *string) bool {
	switch {
	case *p == "" || filepath.IsAbs(*p):
	case strings.HasPrefix(*p, "~"):
		c.addProblem(path, "write the absolute path", "~ is not expanded in the settings")
		return false
	default:
		*p = filepath.Join(c.dir, *p)
	}
	return true
}

func (c *checker) checkListen(address string) {
	if address == "" || c.isBroken("listen") {
		return
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		c.addProblem("listen", `write HOST:PORT as in 127.0.0.1:8080, :8080 for all addresses, or "" for none`, "%q is not a host and a port", address)
	}
}

var (
	transportProgram = regexp.MustCompile(`^[A-Za-z0-9+.-]+::`)
	controlCharacter = regexp.MustCompile(`[\x00-\x1f\x7f]`)
)

func (c *checker) checkRepository(path string, value *string) {
	u, err := url.Parse(*value)
	switch {
	case *value == "":
	case c.lacksScheme(path, *value):
	case strings.HasPrefix(*value, "-") || controlCharacter.MatchString(*value) || transportProgram.MatchString(*value):
		c.addProblem(path, "write a URL or a path", "is neither a URL nor a path")
	case giturl.IsRemote(*value):
		c.parseRemoteURL(path, *value)
	case err == nil && u.Scheme == "file" && (u.Host != "" || u.Path == ""):
		c.addProblem(path, "write file:///path or the path alone", "is a file URL without an absolute path")
	case err == nil && u.Scheme == "file":
		*value = u.Path
	default:
		c.resolvePath(path, value)
	}
}

func (c *checker) lacksScheme(path, value string) bool {
	guess := giturl.GuessRepositoryURL(value)
	if guess == "" {
		return false
	}
	if _, err := os.Stat(filepath.Join(c.dir, value)); err == nil {
		return false
	}
	c.addProblem(path, "write "+guess+", or ./"+value+" for a folder", "has no scheme, as URLs have")
	return true
}

func urlHint(value, otherwise string) string {
	if guess := giturl.GuessURL(value); guess != "" {
		return "write " + guess
	}
	return otherwise
}

func (c *checker) parseRemoteURL(path, value string) (remoteLocation, bool) {
	l, ok := parseLocation(value)
	if guess := giturl.GuessURL(value); guess != "" {
		c.addProblem(path, "write "+guess, "has no scheme, as URLs have")
		return l, false
	}
	if !ok {
		c.addProblem(path, "write https://HOST/PATH, ssh://USER@HOST/PATH or USER@HOST:PATH", "is not a supported kind of URL")
		return l, false
	}
	if hasSecret(value, l) {
		c.addProblem(path, "remove it, name a file or an environment variable under remotes, and rotate the secret if others have seen this file", "must not contain a user or password: secrets do not belong in the settings")
		return l, false
	}
	return l, true
}

// hasSecret reports whether a URL has a password, or a user that may be a token.
func hasSecret(value string, l remoteLocation) bool {
	u, err := url.Parse(value)
	if err != nil || u.User == nil {
		return false
	}
	_, password := u.User.Password()
	return password || l.scheme != "ssh"
}

func (c *checker) checkMap(m map[string]string) {
	same := map[string]string{}
	for _, from := range slices.Sorted(maps.Keys(m)) {
		path := joinPath("map", from)
		if giturl.IsRemote(from) {
			c.parseRemoteURL(path, from)
		} else {
			c.addProblem(path, urlHint(from, "write the URL that the control plane has"), "is not a URL of a remote")
		}
		if first, twice := same[giturl.Normalize(from)]; twice {
			c.addProblem(path, "remove one of them", "is the same repository as %s", giturl.Redact(first))
		}
		same[giturl.Normalize(from)] = from
		to := m[from]
		c.checkRepository(path, &to)
		m[from] = to
	}
}

func (c *checker) checkForges(forges []Forge) {
	hosts := map[string]bool{}
	for i, f := range forges {
		path := fmt.Sprintf("forges[%d]", i)
		if host := strings.ToLower(f.Host); host != "" {
			if l, ok := parseLocation("https://" + host); !ok || len(l.path) > 0 || strings.ContainsAny(host, "@?#/") {
				c.addProblem(path+".host", "write it without https:// and without a path", "is not a host")
			}
			if hosts[host] {
				c.addProblem(path+".host", "remove one of them", "%s is there twice", host)
			}
			hosts[host] = true
		}
		c.checkAPI(path+".api", f.API)
		if f.Kind != "" {
			c.checkOneOf(path+".kind", f.Kind, "git", "github", "gitlab", "gitea")
		}
	}
}

func (c *checker) checkAPI(path, value string) {
	l, ok := parseLocation(value)
	switch {
	case value == "":
	case !ok || !strings.HasPrefix(l.scheme, "http") || hasSecret(value, l):
		c.addProblem(path, urlHint(value, "write it as in https://api.github.com, without a user"), "is not the URL of an API")
	case l.isUnencrypted():
		c.addWarning(path, "use https", "secrets are sent to it unencrypted")
	}
}

func (c *checker) checkSigning(s *Signing) {
	if s == nil || c.isBroken("signing") {
		return
	}
	if (s.SSH == nil) == (s.GPG == nil) {
		c.addProblem("signing", "write ssh or gpg", "should have one of ssh and gpg")
	}
	for path, key := range map[string]*SigningKey{"signing.ssh": s.SSH, "signing.gpg": s.GPG} {
		if key != nil {
			c.checkSecret(path+".key", &key.Key)
			c.checkSecret(path+".passphrase", key.Passphrase)
		}
	}
}

func (c *checker) checkTrustedSigners(t *TrustedSigners) {
	var keys sign.Keys
	for _, of := range []struct {
		path string
		file *string
		add  func([]byte) error
	}{{"trustedSigners.ssh", &t.SSH, keys.AddAllowedSigners}, {"trustedSigners.gpg", &t.GPG, keys.AddGPG}} {
		if *of.file == "" || c.isBroken(of.path) || !c.resolvePath(of.path, of.file) {
			continue
		}
		text, err := os.ReadFile(*of.file)
		if err != nil {
			c.reportUnreadable(of.path, *of.file, err)
			continue
		}
		err = of.add(text)
		if err != nil {
			c.addProblem(of.path, "ssh-keygen(1) describes the format of ssh under ALLOWED SIGNERS; gpg --armor --export writes that of gpg", "%s: %v", *of.file, err)
		}
	}
}

func (c *checker) checkIdentity(path, value string) {
	if strings.ContainsAny(value, "<>\n\r\x00") || strings.TrimSpace(value) != value {
		c.addProblem(path, "author: {name: Fairlead, email: fairlead@example.com} is good", "Git does not take < > or a line break in it, or a space around it")
	}
}

func (c *checker) checkOneOf(path, value string, known ...string) {
	if !c.isBroken(path) && !slices.Contains(known, value) {
		hint := cmp.Or(problem.DidYouMean(value, known), "write one of them")
		c.addProblem(path, hint, "%q is not one of %s", value, strings.Join(known, ", "))
	}
}

func (c *checker) checkReadable(path, file string) {
	if file == "" {
		return
	}
	f, err := os.Open(file)
	if err != nil {
		c.reportUnreadable(path, file, err)
		return
	}
	_ = f.Close()
}

var percentage = regexp.MustCompile(`^\d{1,3}(\.\d+)?%$`)

func parsePercentage(percent string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSuffix(percent, "%"), 64)
	return n / 100, err == nil && percentage.MatchString(percent) && n <= 100
}

// ShouldVerify reports whether to repeat a rendering and compare it. random is in [0, 1).
func (s *Settings) ShouldVerify(random float64) bool {
	part, ok := parsePercentage(s.Verify)
	return ok && random < part
}
