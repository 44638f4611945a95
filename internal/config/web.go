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

// Web configures the page: who reads it, how people sign in, and what they may do.
type Web struct {
	// URL is the public address; "" if nobody signs in.
	URL string `yaml:"url"`
	// Read is [ReadEverybody] or [ReadSignedIn].
	Read    string     `yaml:"read"`
	Actions bool       `yaml:"actions"`
	SignIn  *SignIn    `yaml:"signIn"`
	Session WebSession `yaml:"session"`
	Roles   []Role     `yaml:"roles"`
}

// Who may read the page.
const (
	ReadEverybody = "everybody"
	ReadSignedIn  = "signed-in"
)

// SignIn is how people sign in; one field is set.
type SignIn struct {
	OIDC  *OIDC        `yaml:"oidc"`
	Forge *ForgeSignIn `yaml:"forge"`
	Proxy *Proxy       `yaml:"proxy"`
}

// ForgeSignIn is the control plane's forge: people sign in there, and write with their own tokens.
type ForgeSignIn struct {
	// ClientID and ClientSecret are of an OAuth application or a GitHub App.
	ClientID     string    `yaml:"clientID" required:"clientID: 8d5d0f1c"`
	ClientSecret SecretRef `yaml:"clientSecret" required:"clientSecret: {file: oauth-secret}"`
	// Scopes replace the defaults of the forge.
	Scopes []string `yaml:"scopes"`
}

// OIDC is an OpenID Connect issuer.
type OIDC struct {
	Issuer       string    `yaml:"issuer" required:"issuer: https://id.example.com"`
	ClientID     string    `yaml:"clientID" required:"clientID: fairlead"`
	ClientSecret SecretRef `yaml:"clientSecret" required:"clientSecret: {file: oidc-secret}"`
	Groups       string    `yaml:"groups"`
	// Scopes are requested in addition to openid, profile and email.
	Scopes []string `yaml:"scopes"`
	// TrustEmail accepts unverified addresses.
	TrustEmail bool `yaml:"trustEmail"`
}

// Proxy is a reverse proxy that authenticates people and sends headers.
type Proxy struct {
	From []string `yaml:"from"`
	// User, Name, Email and Groups are header names. Groups are comma-separated.
	User   string `yaml:"user"`
	Name   string `yaml:"name"`
	Email  string `yaml:"email"`
	Groups string `yaml:"groups"`
	// JWT is a signed token instead of these headers; nil for none.
	JWT *ProxyToken `yaml:"jwt"`
}

// ProxyToken is a signed token in a header.
type ProxyToken struct {
	Header   string `yaml:"header" required:"header: X-Forwarded-Access-Token"`
	Issuer   string `yaml:"issuer" required:"issuer: https://id.example.com"`
	Audience string `yaml:"audience" required:"audience: fairlead"`
	// Keys is the URL of the issuer's keys; "" discovers it.
	Keys       string `yaml:"keys"`
	Groups     string `yaml:"groups"`
	TrustEmail bool   `yaml:"trustEmail"`
}

// WebSession configures the cookie of a session.
type WebSession struct {
	Key      *SecretRef `yaml:"key"`
	Previous *SecretRef `yaml:"previous"`
	// Idle bounds an unused session, Life any session.
	Idle time.Duration `yaml:"idle"`
	Life time.Duration `yaml:"life"`
}

// Role permits actions in environments to groups.
type Role struct {
	// Groups are names; "*" is everyone who signed in.
	Groups []string `yaml:"groups" required:"groups: [sre]"`
	// May are actions of [WebActions].
	May []string `yaml:"may" required:"may: [approve, hold, release]"`
	// In are patterns of environment names, as in path.Match.
	In []string `yaml:"in" required:"in: [\"*\"]"`
}

// WebActions returns the actions for roles.
func WebActions() []string {
	return []string{"approve", "hold", "release", "rollback", "promote", "freeze", "merge", "approve-plan", "teardown", "force"}
}

// MinSessionKey is the minimum length of a session key, in bytes.
const MinSessionKey = 32

// SessionKeys returns the current session keys, newest first.
func (s *Settings) SessionKeys() ([]string, error) {
	keys, err := readSecrets(s.Web.Session.Key, s.Web.Session.Previous)
	for _, key := range keys {
		if len(key) < MinSessionKey {
			return nil, fmt.Errorf("read the keys of sessions: one has %d characters, and should have %d or more", len(key), MinSessionKey)
		}
	}
	return keys, err
}

// WebHosts returns the names of the page.
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

// ParseAddresses parses an address or a range.
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
