package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
)

// rendered is a page. It is the same for all readers who may do the same.
type rendered struct {
	code     int
	kind     string // its content type
	redirect string
	kept     page.Kept
	// What a reader gets: nobody's page in the cache.
	body    []byte
	packed  []byte // body, as gzip
	version string // another one when the page is
}

const (
	// maxCached is how many pages are kept, and cachedFor how long at most: what clusters run, and what is
	// overdue, changes without the state.
	maxCached = 256
	cachedFor = 10 * time.Second
)

// pageCache keeps pages until the state changes. The zero value is ready.
type pageCache struct {
	mu    sync.Mutex
	pages map[string]*cachedPage
}

// cachedPage is one page. Its readers wait for the one who makes it.
type cachedPage struct {
	mu    sync.Mutex
	state uint64 // the version of the state that it was made of
	made  time.Time
	page  rendered
	err   error
}

// find returns the cached page of an address, which may have been made of an older state.
func (c *pageCache) find(address string) *cachedPage {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.pages[address]
	if one == nil {
		if c.pages == nil || len(c.pages) >= maxCached {
			c.pages = map[string]*cachedPage{}
		}
		one = &cachedPage{}
		c.pages[address] = one
	}
	return one
}

func (s *site) loadPage(ctx context.Context, target *url.URL, view page.View, state uint64) (rendered, error) {
	key := view.String() + " " + target.EscapedPath() + "?" + target.RawQuery + "\x00" + roleKey(findViewer(ctx))
	p, err := s.loadOnce(key, state, func() (rendered, error) { return s.renderPage(ctx, target, view) })
	who := findViewer(ctx)
	if err == nil && who != nil && p.redirect == "" {
		p.body, p.version = p.kept.For(s.newPageReader(who, p.kept))
		p.packed = nil
	}
	return p, err
}

// loadOnce returns the page of a key, made of the state of a version, and makes it unless it is kept.
func (s *site) loadOnce(key string, state uint64, render func() (rendered, error)) (rendered, error) {
	one := s.pages.find(key)
	one.mu.Lock()
	defer one.mu.Unlock()
	now := s.options.Now()
	if !one.made.IsZero() && one.state == state && now.Sub(one.made) < cachedFor {
		return one.page, one.err
	}
	one.page, one.err = render()
	one.state, one.made = state, now
	if one.page.code == http.StatusAccepted { // it is another one soon
		one.made = time.Time{}
	}
	return one.page, one.err
}

func (s *site) renderPage(ctx context.Context, target *url.URL, view page.View) (rendered, error) {
	q := s.find(target)
	src := s.loadSource(ctx, q)
	f := s.findAt(ctx, src, q)
	isUnasked := q.row != nil && q.row.hasForm && f.code == http.StatusBadRequest && !f.isRefused
	if isUnasked { // the page has a form for it
		f.code = http.StatusOK
	}
	if f.redirect != "" {
		return rendered{code: http.StatusFound, redirect: f.redirect}, nil
	}
	frame := s.newFrame(src, q.path, view)
	s.addDone(&frame, target)
	s.addPerson(&frame, src.Names(), findViewer(ctx))
	frame.API, frame.Follow = strings.TrimPrefix(answerPath(q.path), "/"), !(q.row != nil && q.row.isWork) && !isPast(f.answer)
	shown := newPage(f.answer, q, src.Names())
	if f.isRefused {
		shown = newMissing(f.answer)
	}
	missing, isMissing := shown.(page.Missing)
	if moment := pastText(q); moment != "" && !isMissing { // nothing is to be done about it
		frame.Past, frame.At, frame.Present = moment, q.query.Get("at"), strings.TrimPrefix(withoutPast(target), "/")
		frame.Follow, frame.Levers, frame.Silent = false, nil, nil
	} else if isMissing {
		missing.Heading = headingOf(f.code)
		if moment != "" {
			missing.Present = strings.TrimPrefix(withoutPast(target), "/")
		}
		shown = missing
	}
	frame.ShowsRuns = showsRuns(f.answer)
	_, frame.ShowsDone = f.answer.(answer.History)
	if f.code == http.StatusAccepted {
		frame.Again = pastAgain
	}
	frame.Refresh = frame.Follow && q.query.Get("refresh") != "off"
	if target.RawQuery != "" {
		frame.Path += "?" + target.RawQuery
		frame.API += "?" + target.RawQuery
	}
	if isUnasked || f.code != http.StatusOK { // JSON of it is no answer either
		frame.API = ""
	}
	if q.path == searchPath {
		frame.Query = q.query.Get("q")
	}
	kept, err := page.Render(frame, shown)
	p := rendered{code: f.code, kind: htmlText, kept: kept}
	if err == nil && !frame.SignedIn {
		p.body, p.version = kept.For(page.Reader{})
		p.packed = packBody(p.body)
	}
	return p, err
}

func showsRuns(of any) bool {
	switch a := of.(type) {
	case answer.PastEnvironment, answer.PastEnvironments, answer.PastOverview:
		return true
	case answer.Commits:
		return slices.ContainsFunc(a.Environments, func(e answer.Environment) bool { return len(e.Ran) > 0 })
	case answer.Journey:
		return slices.ContainsFunc(a.Stops, func(stop answer.Stop) bool { return len(stop.Environment.Ran) > 0 })
	case answer.Assignment:
		return len(a.Ran)+len(a.Applied) > 0
	}
	return false
}

// headingOf returns the heading of a page that has no answer; "" for what there is not.
func headingOf(code int) string {
	switch code {
	case http.StatusNotFound:
		return ""
	case http.StatusAccepted:
		return "One moment"
	}
	return "Not possible"
}

// isPast reports whether an answer is about what has ended, so that its page does not follow the state.
func isPast(of any) bool {
	p, isPull := of.(answer.PullImpact)
	_, isChanges := of.(answer.OutputChanges)
	return isChanges || isPull && p.Ended != ""
}

func (s *site) newFrame(src answer.Source, path string, view page.View) page.Frame {
	var silent []string
	for _, r := range src.Snapshot.Remotes {
		if r.Error != "" {
			silent = append(silent, r.URL)
		}
	}
	health, reasons := src.Health()
	stacks := 0
	for _, of := range src.Snapshot.Stacks {
		stacks += len(of)
	}
	return page.Frame{Stacks: stacks, Health: health, HealthReasons: reasons, Repositories: len(src.Snapshot.Remotes), Silent: silent, View: view, Path: path, Product: src.Version, URL: s.options.URL, Needs: len(src.Needs()), Problems: src.CountUrgent(), Questions: s.options.Explain != nil, HasPast: s.options.Past != nil, History: s.options.History != nil, Forecasts: s.options.Simulate != nil, Commits: src.Snapshot.Chain.Commits}
}

// addDone adds to the frame of the page of an environment, or a stack, what an action has just done there, as an
// address says. What no action did is not shown, whoever made the address.
func (s *site) addDone(f *page.Frame, target *url.URL) {
	name, isOne := strings.CutPrefix(target.Path, "/environments/")
	if s.options.People == nil || s.options.People.Operator == nil {
		return
	}
	if !isOne {
		name = ""
	}
	query, o := target.Query(), s.options.People.Operator
	if o.HasDone(name, query.Get("written")) {
		f.Written = query.Get("written")
	}
	if o.HasDone(name, query.Get("done")) {
		f.Done = query.Get("done")
		f.DonePull = o.FindPull(name, f.Done)
	}
	if o.HasDone(name, query.Get("proposed")) {
		f.Proposed, _ = strconv.Atoi(query.Get("proposed")) // of our own
	}
}

func answerPath(path string) string {
	if path == "/" {
		return api + "/overview"
	}
	return api + path
}

// servePage answers with a page, or with its text. A client that has it already gets none.
func (s *site) servePage(w http.ResponseWriter, r *http.Request) {
	state, _ := s.options.Store.Version()
	load := func() (rendered, error) { return s.loadPage(r.Context(), r.URL, readView(r), state) }
	if prefersText(r) {
		load = func() (rendered, error) { return s.loadText(r.Context(), r.URL, state) }
	}
	p, err := load()
	if err != nil {
		s.serveInternalError(w, r, err)
		return
	}
	addVary(w, "Accept")
	s.writeRendered(w, r, p)
}

func (s *site) writeRendered(w http.ResponseWriter, r *http.Request, p rendered) {
	if p.packed == nil && acceptsGzip(r) {
		p.packed = packBody(p.body)
	}
	switch {
	case p.redirect != "":
		redirectBelow(w, r, p.redirect)
	case p.code == http.StatusAccepted:
		w.Header().Set("Retry-After", strconv.Itoa(pastAgain))
		s.writePacked(w, r, p.code, p.kind, p.body, p.packed)
	case p.code != http.StatusOK:
		s.writePacked(w, r, p.code, p.kind, p.body, p.packed)
	case !hasTagged(w, r, `W/"`+p.version+`"`):
		s.writePacked(w, r, http.StatusOK, p.kind, p.body, p.packed)
	}
}

func (s *site) serveAnswer(w http.ResponseWriter, r *http.Request) {
	q := s.find(r.URL)
	f := s.findAt(r.Context(), s.loadSource(r.Context(), q), q)
	switch {
	case f.answer == nil:
		redirectBelow(w, r, strings.TrimPrefix(api, "/")+"/"+f.redirect)
	case f.code != http.StatusOK:
		if f.code == http.StatusAccepted {
			w.Header().Set("Retry-After", strconv.Itoa(pastAgain))
		}
		s.writeJSON(w, r, f.code, f.answer)
	default:
		s.writeTaggedJSON(w, r, f.answer)
	}
}

// redirectBelow leads to a path of the site, which may be below a path of a proxy.
func redirectBelow(w http.ResponseWriter, r *http.Request, path string) {
	up := max(0, strings.Count(r.URL.EscapedPath(), "/")-1)
	w.Header().Set("Location", "./"+strings.Repeat("../", up)+path)
	w.WriteHeader(http.StatusFound)
}

// serveAsset answers with a file that pages need. Its path is another one in another build.
func (s *site) serveAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	data, contentType := page.Asset(name)
	if contentType == "" || r.PathValue("build") != page.Build {
		s.refuse(http.StatusNotFound, NothingHere, "load the page again")(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	s.writePacked(w, r, http.StatusOK, contentType, data, packAsset(name))
}
