package session

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/fairlead-io/fairlead/internal/config"
)

// Options are how people sign in. One of OIDC, Forge and Proxy is not nil.
type Options struct {
	// URL is the address of the page, with a slash at its end.
	URL string
	// OIDC is the issuer, Forge the forge, and Proxy the proxy, that says who somebody is.
	OIDC  *config.OIDC
	Forge *Forge
	Proxy *config.Proxy
	// Keys returns the keys of cookies, the newest first.
	Keys func() ([]string, error)
	// Idle is how long a session lasts that is not used, and Life how long one lasts.
	Idle, Life time.Duration
	// FilterGroups returns those groups that count.
	FilterGroups func([]string) []string
	// Ended is the file that lists the sessions that people have ended; "" keeps them in memory only.
	Ended  string
	Now    func() time.Time
	Logger *slog.Logger
}

// ErrRefused means that somebody who says who they are is not believed.
var ErrRefused = errors.New("it is not known who you are")

// refusal is an error for the person who is refused.
type refusal struct{ sentence string }

func (r *refusal) Error() string        { return r.sentence }
func (r *refusal) Is(target error) bool { return target == ErrRefused }

// Keeper knows who people are. It is safe for several goroutines.
type Keeper struct {
	options Options
	sealer  sealer
	ended   endedSessions
	trusted []netip.Prefix
	client  *http.Client

	mu        sync.Mutex
	issuer    *oidc.Provider // once it has answered
	tokens    *oidc.IDTokenVerifier
	ignoredAt time.Time // when it was logged last that a stranger sent headers of the proxy
}

// issuerTimeout bounds each question to an issuer.
const issuerTimeout = 10 * time.Second

// New returns what knows who people are. It asks nobody: an issuer that is away keeps people from signing
// in, and nothing else.
func New(o Options) *Keeper {
	k := &Keeper{options: o, sealer: sealer{o.Keys}, client: &http.Client{Timeout: issuerTimeout}, ended: endedSessions{file: o.Ended, until: map[string]time.Time{}}}
	err := k.ended.load()
	if err != nil {
		o.Logger.Error("the list of sessions that people have ended cannot be read", slog.Any("error", err))
	}
	if o.Proxy != nil {
		for _, from := range o.Proxy.From {
			prefix, err := config.ParseAddresses(from) // the settings were checked
			if err == nil {
				k.trusted = append(k.trusted, prefix)
			}
		}
	}
	return k
}

// HasPage reports whether people sign in and out at a page of Fairlead, and not at a proxy before it.
func (k *Keeper) HasPage() bool { return k.options.Proxy == nil }

// Identify returns who sent a request; nil for nobody. It fails for somebody who is not believed. A cookie
// that is about to end is renewed, unless w is nil.
func (k *Keeper) Identify(w http.ResponseWriter, r *http.Request) (*Person, error) {
	if k.options.Proxy != nil {
		return k.readProxy(r)
	}
	header := r.Header.Values("Authorization")
	scheme, token, _ := strings.Cut(strings.Join(header, ""), " ")
	if strings.EqualFold(scheme, "Bearer") { // others are for a proxy
		if len(header) > 1 {
			return nil, &refusal{"the header Authorization is there twice"}
		}
		if k.options.Forge != nil {
			return nil, &refusal{"a bearer token says nothing of who somebody is where people sign in at a forge"}
		}
		return k.readToken(r.Context(), strings.TrimSpace(token))
	}
	return k.readSession(w, r), nil
}

// issuerName returns the issuer of the people of sessions.
func (k *Keeper) issuerName() string {
	if k.options.Forge != nil {
		return k.options.Forge.Server
	}
	return k.options.OIDC.Issuer
}

// callbackURL returns the address to which people are sent back.
func (k *Keeper) callbackURL() string { return k.options.URL + strings.TrimPrefix(CallbackPath, "/") }

// SignOut ends the session of a browser, and of every copy of its cookie.
func (k *Keeper) SignOut(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, k.cookie(sessionPurpose, "", 0))
	var s sealedSession
	if !k.HasPage() || !k.readCookie(r, sessionPurpose, &s) {
		return
	}
	err := k.ended.add(s.mark(), s.Began.Add(k.options.Life), k.options.Now())
	if err != nil {
		k.options.Logger.ErrorContext(r.Context(), "a sign-out is not written down: a copy of the cookie is good again after a restart", slog.Any("error", err))
	}
}

// Address returns the address of a page of this site, as a browser reaches it; that of the first page where
// the path leads elsewhere.
func (k *Keeper) Address(path string) string {
	return k.options.URL + strings.TrimPrefix(CleanReturn(path), "/")
}

// CleanReturn returns the path, with its query, of a page of this site to return to; "/" for what could lead
// to another site, or is no page.
func CleanReturn(path string) string {
	u, err := url.Parse(path)
	switch {
	case err != nil || u.IsAbs() || u.Host != "" || u.User != nil || u.Opaque != "" || len(path) > 1000:
		return "/"
	case !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.Contains(path, "\\"):
		return "/"
	case strings.HasPrefix(u.Path, "//") || strings.Contains(u.Path, "\\") || strings.ContainsFunc(path+u.Path, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return "/"
	case u.Path == "/sign-in" || u.Path == "/sign-out" || strings.HasPrefix(u.Path, "/sign-in/") || strings.Contains(u.Path+"/", "/../"):
		return "/"
	}
	u.Fragment = ""
	return u.EscapedPath() + querySuffix(u)
}

func querySuffix(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	return "?" + u.RawQuery
}

// withClient returns a context in which the issuer is asked, which does not end with the request: others
// wait for the same answer.
func (k *Keeper) withClient(ctx context.Context) context.Context {
	return oidc.ClientContext(context.WithoutCancel(ctx), k.client)
}
