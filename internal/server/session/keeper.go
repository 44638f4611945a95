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

// Options are how people sign in. One of OIDC, Forge, Proxy and Local is set.
type Options struct {
	// URL is the page's address, with a final slash.
	URL   string
	OIDC  *config.OIDC
	Forge *Forge
	Proxy *config.Proxy
	// Local is whoever asks from this machine: the demo has nowhere to sign in.
	Local *Person
	// Keys returns the keys of cookies, newest first.
	Keys func() ([]string, error)
	// Idle bounds an unused session, Life any session.
	Idle, Life   time.Duration
	FilterGroups func([]string) []string
	// Ended is the file of signed-out sessions; "" keeps them in memory.
	Ended  string
	Now    func() time.Time
	Logger *slog.Logger
}

// ErrRefused means that a claimed identity is not accepted.
var ErrRefused = errors.New("it is not known who you are")

type refusal struct{ sentence string }

func (r *refusal) Error() string        { return r.sentence }
func (r *refusal) Is(target error) bool { return target == ErrRefused }

// Keeper identifies people. It is safe for concurrent use.
type Keeper struct {
	options Options
	sealer  sealer
	ended   endedSessions
	trusted []netip.Prefix
	client  *http.Client

	mu        sync.Mutex
	issuer    *oidc.Provider
	tokens    *oidc.IDTokenVerifier
	ignoredAt time.Time
}

const issuerTimeout = 10 * time.Second

// New makes a Keeper without contacting the issuer: an outage only prevents sign-ins.
func New(o Options) *Keeper {
	k := &Keeper{options: o, sealer: sealer{o.Keys}, client: &http.Client{Timeout: issuerTimeout}, ended: endedSessions{file: o.Ended, until: map[string]time.Time{}}}
	err := k.ended.load()
	if err != nil {
		o.Logger.Error("the list of sessions that people have ended cannot be read", slog.Any("error", err))
	}
	if o.Proxy != nil {
		for _, from := range o.Proxy.From {
			prefix, err := config.ParseAddresses(from)
			if err == nil {
				k.trusted = append(k.trusted, prefix)
			}
		}
	}
	return k
}

// HasPage reports whether people sign in at Fairlead, and not at a proxy or by being on this machine.
func (k *Keeper) HasPage() bool { return k.options.Proxy == nil && k.options.Local == nil }

// IsLocal reports whether who asks from this machine has signed in by that.
func (k *Keeper) IsLocal() bool { return k.options.Local != nil }

// Identify returns the sender of a request; nil for nobody. It fails for a claim that is not
// accepted. It renews an aging cookie, unless w is nil.
func (k *Keeper) Identify(w http.ResponseWriter, r *http.Request) (*Person, error) {
	if k.options.Proxy != nil {
		return k.readProxy(r)
	}
	if k.options.Local != nil {
		return k.findLocal(r), nil
	}
	header := r.Header.Values("Authorization")
	scheme, token, _ := strings.Cut(strings.Join(header, ""), " ")
	if strings.EqualFold(scheme, "Bearer") { // other schemes are for a proxy
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

// findLocal returns nobody for a request that a proxy may have passed on, or another machine has sent.
func (k *Keeper) findLocal(r *http.Request) *Person {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().Unmap().IsLoopback() || r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Forwarded") != "" {
		return nil
	}
	who := *k.options.Local
	return &who
}

func (k *Keeper) issuerName() string {
	if k.options.Forge != nil {
		return k.options.Forge.Server
	}
	return k.options.OIDC.Issuer
}

func (k *Keeper) callbackURL() string { return k.options.URL + strings.TrimPrefix(CallbackPath, "/") }

// SignOut ends a browser's session and all copies of its cookie.
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

// Address returns the full address of a path on this site, or of the first page for a path
// elsewhere.
func (k *Keeper) Address(path string) string {
	return k.options.URL + strings.TrimPrefix(CleanReturn(path), "/")
}

// CleanReturn returns a path and query on this site to return to, or "/" if it may lead elsewhere.
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

// withClient's context outlives the request: others wait for the same answer.
func (k *Keeper) withClient(ctx context.Context) context.Context {
	return oidc.ClientContext(context.WithoutCancel(ctx), k.client)
}
