// Package web shows what the daemon knows: a page for people, a JSON API for
// programs, the addresses that monitoring asks, and those where forges and clusters
// say that something has happened.
//
// What the package keeps true: it reads, and the only things that it can cause are
// that the next cycle begins now, and that a report of a cluster is heard;
// openapi.json says exactly what is answered, and a test holds the two together; all
// text on the page is escaped, links lead only to http and https, and the page needs
// no script and nothing from elsewhere.
// There is no login: whoever reaches the address may read, so what is shown must
// have no secrets in it before it gets here.
package web

import (
	"crypto/sha256"
	_ "embed" // the page, its style and the description of the API
	"encoding/base64"
	"log/slog"
	"net/http"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// Options is what the window looks at. All fields may be left out.
type Options struct {
	Store   *status.Store
	Metrics *metrics.Metrics // without it, /metrics is not found
	// Webhooks answers POST /webhooks/{forge}; without it, that is not found. It is
	// reached from everywhere, and has to see for itself who asks.
	Webhooks http.Handler
	Version  string
	Logger   *slog.Logger
	// Wake is called when somebody asks for a cycle. It must not wait for its end,
	// and many calls at once must be harmless.
	Wake func()
	// OverdueAfter is after how long it is told that an environment, or the loop, has not
	// finished a cycle; 0 for never.
	OverdueAfter time.Duration
	// Now is the clock that ages are told by.
	Now func() time.Time
}

// New gives the handler of all routes.
func New(o Options) http.Handler {
	s := &site{o.withDefaults()}
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		mux.Handle(r.method+" "+r.path, r.answer)
		mux.Handle(r.path, s.notAllowed(r.method)) // all methods that no other line is about
	}
	mux.HandleFunc("/", s.notFound)
	sameOrigin := http.NewCrossOriginProtection() // so that other sites cannot make a browser wake us
	sameOrigin.SetDenyHandler(http.HandlerFunc(s.crossOrigin))
	sameOrigin.AddInsecureBypassPattern(http.MethodPost + " " + webhooks) // a browser has nothing that would let it in there
	return secure(s.isolate(sameOrigin.Handler(mux)))
}

func (o Options) withDefaults() Options {
	if o.Store == nil {
		o.Store = &status.Store{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Wake == nil {
		o.Wake = func() {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// site answers requests.
type site struct{ Options }

// route is one address and the one method that it answers (GET also means HEAD).
type route struct {
	method, path string
	answer       http.Handler
}

// webhooks is the address of the webhooks of a kind of forge.
const webhooks = "/webhooks/{forge}"

func (s *site) routes() []route {
	all := []route{
		{http.MethodGet, "/{$}", http.HandlerFunc(s.page)},
		{http.MethodGet, "/healthz", http.HandlerFunc(s.alive)},
		{http.MethodGet, "/readyz", http.HandlerFunc(s.ready)},
		{http.MethodGet, "/metrics", s.Metrics},
		{http.MethodGet, "/api/v1/status", http.HandlerFunc(s.status)},
		{http.MethodGet, "/api/v1/chain", http.HandlerFunc(s.chain)},
		{http.MethodGet, "/api/v1/environments", http.HandlerFunc(s.environments)},
		{http.MethodGet, "/api/v1/environments/{name}", http.HandlerFunc(s.environment)},
		{http.MethodPost, "/api/v1/wake", http.HandlerFunc(s.wake)},
		{http.MethodGet, "/api/v1/openapi.json", http.HandlerFunc(s.description)},
	}
	if s.Webhooks != nil {
		all = append(all, route{http.MethodPost, webhooks, s.Webhooks})
	}
	return all
}

//go:embed style.css
var style string

// secure sets the headers that keep browsers from doing more than showing the
// page. The style is in the page, so that the page works below any path of a
// proxy; its hash allows this one style and no other.
func secure(next http.Handler) http.Handler {
	hash := sha256.Sum256([]byte(style))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}
