// Package web serves the state of the daemon over HTTP: pages for people, a JSON API for
// programs, health checks and metrics for monitoring, and the addresses of webhooks.
//
// What the package keeps true: but for operator actions it only reads; all that another request can cause is that the
// next cycle starts now, that a report of a cluster is stored, or, so often within a minute, that
// forges are asked for what a simulation needs to know. openapi.json describes the API exactly,
// which a test checks. Each page is made from the answer of the same path below /api/v1. A page needs no
// script and no other host; one that follows the state is told of each version of itself, and a reader
// that is too slow is cut off.
// Everyone who reaches the address may read, unless the settings let only people read who signed in, so
// callers must remove secrets from the state before it gets here. Where people sign in, those whom a role
// permits it may perform operator actions: nothing else writes, and nobody else.
package web

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/fairlead-io/fairlead/internal/change/drift"
	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// Options configures the handler. All fields may be left out.
type Options struct {
	Store   *status.Store
	Metrics *metrics.Metrics // nil: /metrics is not found
	// Webhooks answers POST /webhooks/{forge}, /webhooks/{tool}/{cluster} and /webhooks/plans/{cluster}; nil: not found.
	// Everyone can reach it, so it must authenticate its callers.
	Webhooks http.Handler
	// Plans answers POST /webhooks/plans; nil: not found. Everyone can reach it: it must say nothing but
	// what follows from the request, and change nothing.
	Plans http.Handler
	// Reports answers POST /api/v1/fleet/reports; nil: not found. It must authenticate its callers.
	Reports http.Handler
	// Fleet answers questions about clusters, below /api/v1/fleet; nil if there is no ledger.
	Fleet *fleetview.View
	// Simulate answers /api/v1/simulate; nil: not found. It must write nothing, and allow many calls at
	// once.
	Simulate func(ctx context.Context, revision string) ([]promote.Arrival, error)
	// ExplainLanes does the same for /api/v1/environments/{name}/lanes; its report is nil if there are no lanes.
	ExplainLanes func(ctx context.Context, environment string, lanes *model.Lanes) (*lane.Report, error)
	// Explain and Compare answer questions about what is rendered; nil: they have no pages. They must
	// write nothing, and allow many calls at once.
	Explain func(ctx context.Context, environment, query string) (explain.Document, error)
	Compare func(ctx context.Context, from, to string) (drift.Report, error)
	// Past answers questions about the past; nil: pages have the present alone.
	Past *Past
	// PastPatience is how long a request waits for an answer about the past; 0 for 2 seconds.
	PastPatience time.Duration
	// History returns what people and Fairlead did, the newest first; nil: it has no page. It must write nothing,
	// and allow many calls at once.
	History func(ctx context.Context) (history.Log, error)
	// Pull returns a pull request of an environment, and what it means; nil: those that were merged or closed have
	// no page. It must write nothing, and allow many calls at once.
	Pull    func(ctx context.Context, environment string, number int) (history.Pull, error)
	Version string
	// URL is the address of the site, as people know it; "" if that is not known.
	URL    string
	Logger *slog.Logger
	// Wake is called when a client asks for a cycle. It must not wait for its end, and
	// must allow many calls at once.
	Wake func()
	// OverdueAfter is how long an environment, or the loop, may go without finishing a
	// cycle before it is reported; 0 for any time.
	OverdueAfter time.Duration
	// StreamPace is the least time between two events of a page that follows the state, and StreamTimeout how
	// long it may take for one before it is cut off; 0 for 1 and 10 seconds.
	StreamPace, StreamTimeout time.Duration
	// StyleGuide adds the page that shows each part of pages, for those who change them.
	StyleGuide bool
	// People is about those who sign in; nil if nobody does.
	People *People
	// CheckLedger returns why what clusters report cannot be stored; nil if it can.
	CheckLedger func() error
	// Now is the clock by which ages are shown.
	Now func() time.Time
}

// NothingHere is the error of an address that no route has.
const NothingHere = "there is nothing at this address"

// New returns the handler of all routes.
func New(o Options) http.Handler {
	s := newSite(o)
	mux := http.NewServeMux()
	methods := map[string][]string{} // by path
	for _, r := range s.allRoutes() {
		mux.Handle(r.method+" "+r.path, r.handler)
		methods[r.path] = append(methods[r.path], r.method)
	}
	delete(methods, planQuestions) // the lines of webhooks are about their other methods
	delete(methods, clusterPlans)
	for path, allowed := range methods {
		mux.Handle(path, s.methodNotAllowed(allowed)) // all methods that no other line is about
	}
	mux.HandleFunc("/", s.serveNothing)
	sameOrigin := http.NewCrossOriginProtection() // so that other sites cannot make a browser wake us
	sameOrigin.SetDenyHandler(s.refuse(http.StatusForbidden, "a page of another site sent this request", "send it from a program, or from a page of this address"))
	for _, authenticated := range []string{webhooks, clusterReports, agentapi.Path} { // a browser holds no secret of theirs
		sameOrigin.AddInsecureBypassPattern(http.MethodPost + " " + authenticated)
	}
	return addSecurityHeaders(s.recoverPanics(sameOrigin.Handler(s.identify(s.readTimes(mux)))))
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
	o.PastPatience = cmp.Or(o.PastPatience, pastPatience)
	o.StreamPace, o.StreamTimeout = cmp.Or(o.StreamPace, streamPace), cmp.Or(o.StreamTimeout, streamTimeout)
	if o.CheckLedger == nil {
		o.CheckLedger = func() error { return nil }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func newSite(o Options) *site {
	s := &site{options: o.withDefaults()}
	s.rows = s.newRows()
	return s
}

// site answers requests.
type site struct {
	options     Options
	rows        []pageRow
	simulations admissions
	questions   admissions
	pages       pageCache
	streams     streams
	assigned    assignedCache
	stacks      stackCache
	past        refreshed[history.Log]
	ahead       refreshed[answer.HeadForecast]
	woken       wakeLimit
	pastWork    pastWork
	chains      chainCache
}

// route is one path and a method that it answers (GET includes HEAD).
type route struct {
	method, path string
	handler      http.Handler
}

const (
	webhooks       = "/webhooks/{forge}"          // the address of the webhooks of a kind of forge
	clusterReports = "/webhooks/{tool}/{cluster}" // the address of the reports of a cluster with a key
	planQuestions  = "/webhooks/plans"            // the address at which tofu-controller asks about plans
	clusterPlans   = "/webhooks/plans/{cluster}"  // the address of the plans of a cluster with a key
	plainText      = "text/plain; charset=utf-8"
	htmlText       = "text/html; charset=utf-8"
)

func (s *site) allRoutes() []route {
	all := []route{
		{http.MethodGet, "/healthz", s.serveFixed(plainText, "ok\n")},
		{http.MethodGet, "/readyz", http.HandlerFunc(s.serveReadiness)},
		{http.MethodGet, "/metrics", s.options.Metrics},
		{http.MethodGet, "/api/v1/status", http.HandlerFunc(s.serveStatus)},
		{http.MethodGet, "/api/v1/chain", s.serveReport(func(now status.Snapshot) any { return now.Chain })},
		{http.MethodPost, "/api/v1/wake", http.HandlerFunc(s.serveWake)},
		{http.MethodPost, wakePath, http.HandlerFunc(s.serveWakeForm)},
		{http.MethodGet, "/api/v1/openapi.json", s.serveFixed("application/json", openAPI)},
	}
	for i := range s.rows {
		all = append(all, s.rowRoutes(&s.rows[i])...)
	}
	all = append(all, route{http.MethodGet, "/events", http.HandlerFunc(s.serveEvents)}, route{http.MethodGet, "/assets/{build}/{file}", http.HandlerFunc(s.serveAsset)}, route{http.MethodGet, mapPicture, http.HandlerFunc(s.serveMapPicture)},
		route{http.MethodGet, settingsPath, s.showPresent(s.serveSettings)}, route{http.MethodPost, settingsPath, http.HandlerFunc(s.serveView)})
	if s.options.StyleGuide {
		all = append(all, route{http.MethodGet, "/styleguide", http.HandlerFunc(s.serveStyleGuide)})
	}
	all = append(all, s.fleetRoutes()...)
	all = append(all, s.peopleRoutes()...)
	if s.options.Webhooks != nil {
		all = append(all, route{http.MethodPost, webhooks, s.options.Webhooks}, route{http.MethodPost, clusterReports, s.options.Webhooks}, route{http.MethodPost, clusterPlans, s.options.Webhooks})
	}
	if s.options.Plans != nil {
		all = append(all, route{http.MethodPost, planQuestions, s.options.Plans})
	}
	if s.options.Simulate != nil {
		all = append(all, route{http.MethodGet, "/api/v1/simulate", http.HandlerFunc(s.serveSimulation)})
	}
	if s.options.ExplainLanes != nil {
		all = append(all, route{http.MethodGet, lanesPath, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serveLanes(s, w, r) })})
	}
	if s.options.Reports != nil {
		all = append(all, route{http.MethodPost, agentapi.Path, s.options.Reports})
	}
	return all
}

// rowRoutes returns the routes of a page, its answer and its table; nil if the site cannot answer.
func (s *site) rowRoutes(row *pageRow) []route {
	if row.isThere != nil && !row.isThere(&s.options) {
		return nil
	}
	show := s.servePage
	if row.path == commitPath {
		show = s.serveCommit
	}
	all := []route{{http.MethodGet, row.path, http.HandlerFunc(show)}, {http.MethodGet, api + cmp.Or(row.answerPath, row.path), http.HandlerFunc(s.serveAnswer)}}
	if row.hasTable {
		all = append(all, route{http.MethodGet, row.path + csvExtension, http.HandlerFunc(s.serveCSV)})
	}
	return all
}

// policy lets browsers load the style and the script of this server, and nothing else, and lets no text
// become HTML but by the one rule of the script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types fairlead"

// addSecurityHeaders sets headers that let browsers only show the page.
func addSecurityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}
