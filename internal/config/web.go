package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// Web is about people at the page: who may read it, how they sign in, and what they may do there.
type Web struct {
	// URL is the address of the page, as people reach it; "" where nobody signs in.
	URL string `yaml:"url"`
	// Read is who may read: [ReadEverybody] or [ReadSignedIn].
	Read string `yaml:"read"`
	// Actions lets people who signed in perform operator actions, as their roles permit.
	Actions bool `yaml:"actions"`
	// SignIn is how people sign in; nil if nobody does.
	SignIn  *SignIn    `yaml:"signIn"`
	Session WebSession `yaml:"session"`
	// Roles permit actions to groups.
	Roles []Role `yaml:"roles"`
}

// Who may read the page.
const (
	ReadEverybody = "everybody"
	ReadSignedIn  = "signed-in"
)

// SignIn is how people sign in. One of its fields is not nil.
type SignIn struct {
	OIDC  *OIDC        `yaml:"oidc"`
	Forge *ForgeSignIn `yaml:"forge"`
	Proxy *Proxy       `yaml:"proxy"`
}

// ForgeSignIn is the forge of the control plane: people sign in there, and write with tokens of their own.
type ForgeSignIn struct {
	// ClientID and ClientSecret are those of an OAuth application, or of a GitHub App.
	ClientID     string    `yaml:"clientID" required:"clientID: 8d5d0f1c"`
	ClientSecret SecretRef `yaml:"clientSecret" required:"clientSecret: {file: oauth-secret}"`
	// Scopes replace those that the kind of forge needs; nil for them.
	Scopes []string `yaml:"scopes"`
}

// OIDC is an issuer of OpenID Connect.
type OIDC struct {
	Issuer       string    `yaml:"issuer" required:"issuer: https://id.example.com"`
	ClientID     string    `yaml:"clientID" required:"clientID: fairlead"`
	ClientSecret SecretRef `yaml:"clientSecret" required:"clientSecret: {file: oidc-secret}"`
	// Groups is the claim with the groups of a person.
	Groups string `yaml:"groups"`
	// Scopes are asked for beside openid, profile and email.
	Scopes []string `yaml:"scopes"`
	// TrustEmail takes an address that the issuer does not say to have verified.
	TrustEmail bool `yaml:"trustEmail"`
}

// Proxy is a reverse proxy that people sign in at: it sends their names with each request.
type Proxy struct {
	// From are the addresses, or ranges of them, that the proxy connects from.
	From []string `yaml:"from"`
	// User, Name, Email and Groups are the headers with the login, the name, the address and the
	// groups of a person. The groups are separated by commas.
	User   string `yaml:"user"`
	Name   string `yaml:"name"`
	Email  string `yaml:"email"`
	Groups string `yaml:"groups"`
	// JWT is the signed token that the proxy sends in place of these headers; nil if it sends none.
	JWT *ProxyToken `yaml:"jwt"`
}

// ProxyToken is a signed token in a header.
type ProxyToken struct {
	Header   string `yaml:"header" required:"header: X-Forwarded-Access-Token"`
	Issuer   string `yaml:"issuer" required:"issuer: https://id.example.com"`
	Audience string `yaml:"audience" required:"audience: fairlead"`
	// Keys is the URL of the keys of the issuer; "" to ask the issuer where they are.
	Keys string `yaml:"keys"`
	// Groups is the claim with the groups of a person.
	Groups string `yaml:"groups"`
	// TrustEmail takes an address that the issuer does not say to have verified.
	TrustEmail bool `yaml:"trustEmail"`
}

// WebSession is about the cookie of a person who signed in.
type WebSession struct {
	// Key is what cookies are sealed with; nil where there are none.
	Key *SecretRef `yaml:"key"`
	// Previous opens cookies as well, until all have been sealed with the other; nil if there is none.
	Previous *SecretRef `yaml:"previous"`
	// Idle is how long a session lasts that is not used, and Life how long one lasts.
	Idle time.Duration `yaml:"idle"`
	Life time.Duration `yaml:"life"`
}

// Role permits actions in environments to groups.
type Role struct {
	// Groups are names of groups; "*" is everybody who signed in.
	Groups []string `yaml:"groups" required:"groups: [sre]"`
	// May are actions, of [WebActions].
	May []string `yaml:"may" required:"may: [approve, hold, release]"`
	// In are patterns of the names of environments, as in path.Match.
	In []string `yaml:"in" required:"in: [\"*\"]"`
}

// WebActions returns what roles may permit.
func WebActions() []string {
	return []string{"approve", "hold", "release", "rollback", "promote", "freeze", "merge", "approve-plan", "teardown", "force"}
}

// MinSessionKey is how many characters the key of sessions has at least.
const MinSessionKey = 32

// SessionKeys returns the current keys of sessions, the newest first.
func (s *Settings) SessionKeys() ([]string, error) {
	keys, err := readSecrets(s.Web.Session.Key, s.Web.Session.Previous)
	for _, key := range keys {
		if len(key) < MinSessionKey {
			return nil, fmt.Errorf("read the keys of sessions: one has %d characters, and should have %d or more", len(key), MinSessionKey)
		}
	}
	return keys, err
}

// WebHosts returns the names under which the page is reached.
func (s *Settings) WebHosts() []string {
	u, err := url.Parse(s.Web.URL)
	if err != nil || u.Hostname() == "" {
		return s.Hosts
	}
	return append(slices.Clone(s.Hosts), u.Hostname())
}

func (c *checker) checkWeb(s *Settings) {
	w := &s.Web
	if c.isBroken("web") {
		return
	}
	c.checkOneOf("web.read", w.Read, ReadEverybody, ReadSignedIn)
	c.checkWebURL(w)
	switch {
	case w.SignIn == nil && (w.Actions || w.Read == ReadSignedIn) && !c.isBroken("web.signIn"):
		path := "web.actions"
		if !w.Actions {
			path = "web.read"
		}
		c.addProblem(path, "write signIn beside it, as in signIn: {oidc: {issuer: https://id.example.com, …}}", "needs people who sign in, and there is no signIn")
	case w.SignIn != nil:
		c.checkSignIn(w)
		repo := s.ControlPlane.Repo
		if w.SignIn.Forge != nil && !c.isBroken("controlPlane.repo") && (giturl.HTTPServer(repo) == "" || giturl.IsUnencrypted(repo)) {
			c.addProblem("web.signIn.forge", "write its https:// URL into controlPlane", "needs a control plane on a forge that is reached by https")
		}
	}
	c.checkRoles(w)
	c.checkWebSession(&w.Session)
	if w.Actions && !s.Write {
		c.addWarning("web.actions", "write: true lets it push", "has no effect, because Fairlead may not write")
	}
	if w.SignIn != nil && s.Listen == "" && !c.isBroken("listen") {
		c.addWarning("web.signIn", "set listen: HOST:PORT, or remove web", "nobody can sign in, because listen is off")
	}
}

// checkWebURL checks the address of the page, and adds the slash at its end.
func (c *checker) checkWebURL(w *Web) {
	if c.isBroken("web.url") {
		return
	}
	if w.URL == "" {
		if w.SignIn != nil {
			c.addProblem("web.signIn", "write url: https://fairlead.example.com/ into web", "needs the address of the page")
		}
		return
	}
	u, err := url.Parse(w.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		c.addProblem("web.url", "write it as in https://fairlead.example.com/", "is not the address of a page")
	case giturl.IsUnencrypted(w.URL):
		c.addProblem("web.url", "write https://, which a proxy before Fairlead can serve", "what people sign in with could be read on the way")
	case !strings.HasSuffix(w.URL, "/"):
		w.URL += "/"
	}
}

func (c *checker) checkSignIn(w *Web) {
	ways := 0
	if o := w.SignIn.OIDC; o != nil {
		ways++
		c.checkIssuer("web.signIn.oidc.issuer", o.Issuer)
		c.checkSecret("web.signIn.oidc.clientSecret", &o.ClientSecret)
		o.Groups = cmp.Or(o.Groups, "groups")
	}
	if f := w.SignIn.Forge; f != nil {
		ways++
		c.checkSecret("web.signIn.forge.clientSecret", &f.ClientSecret)
	}
	if p := w.SignIn.Proxy; p != nil {
		ways++
		c.checkProxy(p)
	}
	switch {
	case c.isBroken("web.signIn"):
	case ways != 1:
		c.addProblem("web.signIn", "write one of oidc, forge and proxy", "names %d ways to sign in", ways)
	case w.SignIn.Proxy == nil && w.Session.Key == nil && !c.isBroken("web.session") && !c.isBroken("web.session.key"):
		c.addProblem("web.signIn", "write session: {key: {file: session-key}} into web", "needs a key for sessions")
	}
}

// checkIssuer checks the URL of an issuer; "" is none.
func (c *checker) checkIssuer(path, value string) {
	if value == "" || c.isBroken(path) {
		return
	}
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		c.addProblem(path, "write it as in https://id.example.com", "is not the URL of an issuer")
	case giturl.IsUnencrypted(value):
		c.addProblem(path, "write https://", "its answers could be changed on the way")
	}
}

var headerHint = "write the name of a header, as in X-Forwarded-User"

func (c *checker) checkProxy(p *Proxy) {
	const at = "web.signIn.proxy"
	if len(p.From) == 0 && !c.isBroken(at+".from") {
		c.addProblem(at, "write from: [10.0.0.7] with the addresses of the proxy", "does not say where the proxy connects from")
	}
	for i, from := range p.From {
		prefix, err := ParseAddresses(from)
		path := fmt.Sprintf("%s.from[%d]", at, i)
		switch {
		case c.isBroken(path):
		case err != nil:
			c.addProblem(path, "write it as in 10.0.0.7 or 10.0.0.0/24", "%q is neither an address nor a range", from)
		case prefix.Bits() == 0:
			c.addProblem(path, "write the addresses of the proxy", "is every address, so that everybody could write the headers")
		}
	}
	if p.JWT != nil {
		for _, key := range []string{"user", "name", "email", "groups"} {
			if c.isGiven(at + "." + key) {
				c.addProblem(at+"."+key, "remove it, or jwt", "is not read, because the token of jwt says who a person is")
			}
		}
		c.checkIssuer(at+".jwt.issuer", p.JWT.Issuer)
		c.checkIssuer(at+".jwt.keys", p.JWT.Keys)
		c.checkHeader(at+".jwt.header", p.JWT.Header)
		p.JWT.Groups = cmp.Or(p.JWT.Groups, "groups")
		return
	}
	p.User, p.Name = cmp.Or(p.User, "X-Forwarded-User"), cmp.Or(p.Name, "X-Forwarded-Preferred-Username")
	p.Email, p.Groups = cmp.Or(p.Email, "X-Forwarded-Email"), cmp.Or(p.Groups, "X-Forwarded-Groups")
	for key, name := range map[string]string{"user": p.User, "name": p.Name, "email": p.Email, "groups": p.Groups} {
		c.checkHeader(at+"."+key, name)
	}
}

func (c *checker) checkHeader(path, name string) {
	valid := name != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
	if c.isGiven(path) && !c.isBroken(path) && !valid {
		c.addProblem(path, headerHint, "%q is not the name of a header", name)
	}
}

// ParseAddresses parses an address, or a range of them.
func ParseAddresses(text string) (netip.Prefix, error) {
	address, err := netip.ParseAddr(text)
	if err == nil {
		return address.Unmap().Prefix(address.Unmap().BitLen())
	}
	return netip.ParsePrefix(text)
}

func (c *checker) checkRoles(w *Web) {
	if w.Actions && len(w.Roles) == 0 && !c.isBroken("web.roles") {
		c.addWarning("web.actions", "write roles: [{groups: [sre], may: [hold, release], in: [\"*\"]}] into web", "nobody may do anything, because there are no roles")
	}
	for i, r := range w.Roles {
		at := fmt.Sprintf("web.roles[%d]", i)
		for j, may := range r.May {
			path := fmt.Sprintf("%s.may[%d]", at, j)
			if !slices.Contains(WebActions(), may) && !c.isBroken(path) && may != "" {
				hint := cmp.Or(problem.DidYouMean(may, WebActions()), "write one of them")
				c.addProblem(path, hint, "%q is not one of %s", may, strings.Join(WebActions(), ", "))
			}
		}
		for j, in := range r.In {
			at := fmt.Sprintf("%s.in[%d]", at, j)
			if _, err := path.Match(in, "x"); err != nil && !c.isBroken(at) {
				c.addProblem(at, `write a name, or a pattern as in "prod-*"`, "%q is not a pattern", in)
			}
		}
	}
}

func (c *checker) checkWebSession(s *WebSession) {
	if c.isBroken("web.session") {
		return
	}
	if s.Key == nil && s.Previous != nil {
		c.addProblem("web.session.previous", "write key beside it, or remove it", "is there without a key")
	}
	for path, ref := range map[string]*SecretRef{"web.session.key": s.Key, "web.session.previous": s.Previous} {
		c.checkSecret(path, ref)
		if ref == nil || !c.isGiven(path) || c.isBroken(path) {
			continue
		}
		key, err := ref.Read()
		if err == nil && len(key.Reveal()) < MinSessionKey {
			c.addProblem(path, "write random text into it, as openssl rand -base64 32 prints it", "has %d characters, and should have %d or more", len(key.Reveal()), MinSessionKey)
		}
	}
	for path, d := range map[string]time.Duration{"web.session.idle": s.Idle, "web.session.life": s.Life} {
		if d < time.Minute && !c.isBroken(path) {
			c.addProblem(path, "write 8h, for example", "is shorter than a minute")
		}
	}
}
