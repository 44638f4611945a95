package web

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/lever"
	"github.com/fairlead-io/fairlead/internal/server/page"
	"github.com/fairlead-io/fairlead/internal/server/permit"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
	"github.com/fairlead-io/fairlead/internal/server/session"
)

// People is about those who sign in.
type People struct {
	Keeper *session.Keeper
	Policy permit.Policy
	// SignedInOnly lets nobody read who has not signed in.
	SignedInOnly bool
	// Operator performs actions; nil if the page is only read.
	Operator *lever.Operator
}

// The paths of signing in and out, of the page about oneself, and of operator actions.
const (
	signInPath  = "/sign-in"
	signOutPath = "/sign-out"
	mePath      = "/me"
	waitingPath = "/waiting"
	leverPath   = "/levers/{lever}"
)

// waitingRow has the parameters of what waits for people, which is not among the rows: it is the reader's own.
var waitingRow = pageRow{path: waitingPath, filters: []param{{name: "for", about: "`me` for what the reader may act on.", values: []string{"me"}}}}

func (s *site) peopleRoutes() []route {
	all := []route{{http.MethodGet, waitingPath, s.showPresent(s.serveWaiting)}, {http.MethodGet, api + waitingPath, s.showPresent(s.serveWaitingAnswer)}}
	if s.options.People == nil {
		return all
	}
	all = append(all, route{http.MethodGet, mePath, s.showPresent(s.serveMe)}, route{http.MethodGet, api + mePath, s.showPresent(s.serveMeAnswer)})
	if s.options.People.Keeper.HasPage() {
		all = append(all, route{http.MethodGet, signInPath, http.HandlerFunc(s.serveSignIn)}, route{http.MethodGet, session.CallbackPath, http.HandlerFunc(s.serveCallback)},
			route{http.MethodPost, signOutPath, http.HandlerFunc(s.serveSignOut)})
	}
	if s.options.People.Operator != nil {
		all = append(all, route{http.MethodGet, leverPath, s.showPresent(s.serveLever)}, route{http.MethodPost, leverPath, http.HandlerFunc(s.serveLeverForm)},
			route{http.MethodGet, api + leverPath, s.showPresent(s.serveLeverAnswer)}, route{http.MethodPost, api + leverPath, http.HandlerFunc(s.serveLeverRequest)})
	}
	return all
}

// findUnavailable returns why there is no page of a person, or of an action, and what to do about it; "" for another path.
func (s *site) findUnavailable(path string) (sentence, hint string) {
	path = strings.TrimPrefix(path, api)
	isLever := strings.HasPrefix(path, strings.TrimSuffix(leverPath, "{lever}"))
	switch {
	case s.options.People == nil && (isLever || path == mePath || path == signInPath):
		return "nobody can sign in here", "set web.signIn, so that people can sign in"
	case isLever:
		return "this page is only read", "set web.actions, so that people can act"
	}
	return "", ""
}

// viewerKey is the key of the person in the context of a request.
type viewerKey struct{}

// findViewer returns who sent a request; nil for nobody.
func findViewer(ctx context.Context) *session.Person {
	who, _ := ctx.Value(viewerKey{}).(*session.Person)
	return who
}

// identify finds out who sends a request, and refuses it where nobody may read who has not signed in.
func (s *site) identify(next http.Handler) http.Handler {
	if s.options.People == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if isOpenPath(path) || strings.HasPrefix(path, "/assets/") || path == signInPath || path == session.CallbackPath {
			next.ServeHTTP(w, r)
			return
		}
		addVary(w, "Cookie")
		who, err := s.options.People.Keeper.Identify(w, r)
		switch {
		case errors.Is(err, session.ErrRefused):
			s.refusePerson(w, r, http.StatusUnauthorized, err.Error(), "sign in again")
		case err != nil:
			s.options.Logger.WarnContext(r.Context(), "it cannot be found out who sends a request", slog.Any("error", err))
			s.refusePerson(w, r, http.StatusServiceUnavailable, "it cannot be found out now who you are", "the log of the daemon says why")
		case who == nil && s.options.People.SignedInOnly:
			s.demandSignIn(w, r)
		default:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), viewerKey{}, who)))
		}
	})
}

// demandSignIn leads somebody to where one signs in, who reads a page.
func (s *site) demandSignIn(w http.ResponseWriter, r *http.Request) {
	if !s.options.People.Keeper.HasPage() {
		s.refusePerson(w, r, http.StatusUnauthorized, "the proxy before Fairlead does not say who you are", "sign in there")
		return
	}
	if r.Method != http.MethodGet && strings.HasPrefix(r.URL.Path, "/levers/") { // a session has ended while somebody typed
		r.Body = http.MaxBytesReader(w, r.Body, maxLeverBody)
		if err := r.ParseForm(); err != nil {
			s.refusePerson(w, r, http.StatusBadRequest, "the form cannot be read", "open the page again")
			return
		}
		s.writePage(w, r, http.StatusUnauthorized, page.Refused{Error: "your session has ended, and nothing was done", Return: r.URL.EscapedPath() + "?" + askedBefore(r.PostForm)})
		return
	}
	if r.Method != http.MethodGet || isForProgram(r.URL.Path) {
		s.refusePerson(w, r, http.StatusUnauthorized, "only people who signed in may do this", "sign in at "+signInPath+", or send a bearer token of the issuer")
		return
	}
	redirectBelow(w, r, strings.TrimPrefix(signInPath, "/")+"?from="+url.QueryEscape(r.URL.RequestURI()))
}

func isForProgram(path string) bool { return strings.HasPrefix(path, "/api/") || path == "/events" }

func (s *site) refusePerson(w http.ResponseWriter, r *http.Request, code int, sentence, hint string) {
	if code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if isForProgram(r.URL.Path) {
		s.writeJSON(w, r, code, errorAnswer{sentence, hint})
		return
	}
	s.writePage(w, r, code, page.Refused{Error: sentence, Hint: hint})
}

func (s *site) writePage(w http.ResponseWriter, r *http.Request, code int, of any) {
	addVary(w, "Accept")
	if prefersText(r) {
		p, err := newText(code, of, plaintext.Facts{Now: s.options.Now()})
		if err != nil {
			s.serveInternalError(w, r, err)
			return
		}
		s.writePacked(w, r, code, p.kind, p.body, nil)
		return
	}
	src := s.readState()
	frame := s.newFrame(src, r.URL.EscapedPath(), readView(r))
	s.addPerson(&frame, src.Names(), findViewer(r.Context()))
	refused, isRefused := of.(page.Refused)
	frame.Return = refused.Return
	if !isRefused && r.Method == http.MethodGet {
		frame.API = strings.TrimPrefix(answerPath(frame.Path), "/")
	}
	if query := askedAgain(r); query != "" {
		frame.Path += "?" + query
	}
	if r.URL.RawQuery != "" && r.Method == http.MethodGet {
		frame.Path += "?" + r.URL.RawQuery
		if frame.API != "" {
			frame.API += "?" + r.URL.RawQuery
		}
	}
	kept, err := page.Render(frame, of)
	if err != nil {
		s.serveInternalError(w, r, err)
		return
	}
	body, _ := kept.For(s.newPageReader(findViewer(r.Context()), kept))
	s.writePacked(w, r, code, htmlText, body, nil)
}

func (s *site) serveSignIn(w http.ResponseWriter, r *http.Request) {
	address, err := s.options.People.Keeper.Begin(w, r, r.URL.Query().Get("from"))
	if err != nil {
		s.options.Logger.WarnContext(r.Context(), "nobody can sign in", slog.Any("error", err))
		s.writePage(w, r, http.StatusServiceUnavailable, page.Refused{Error: "nobody can sign in now", Hint: "the log of the daemon says why"})
		return
	}
	http.Redirect(w, r, address, http.StatusSeeOther)
}

func (s *site) serveCallback(w http.ResponseWriter, r *http.Request) {
	keeper := s.options.People.Keeper
	path, who, err := keeper.Finish(w, r)
	switch {
	case errors.Is(err, session.ErrRefused):
		s.options.Logger.InfoContext(r.Context(), "sign-in refused", slog.Any("error", err), slog.String("address", r.RemoteAddr))
		s.writePage(w, r, http.StatusForbidden, page.Refused{Error: err.Error(), Return: cmp.Or(path, "/")})
	case err != nil:
		s.options.Logger.WarnContext(r.Context(), "sign-in failed", slog.Any("error", err))
		s.writePage(w, r, http.StatusServiceUnavailable, page.Refused{Error: "nobody can sign in now", Hint: "the log of the daemon says why", Return: cmp.Or(path, "/")})
	default:
		s.options.Logger.InfoContext(r.Context(), "signed in", slog.String("actor", who.Actor()), slog.String("address", r.RemoteAddr))
		http.Redirect(w, r, keeper.Address(path), http.StatusSeeOther)
	}
}

// serveSignOut ends the session of a browser. It leads nowhere: where only people may read who signed in, that
// would be to the issuer, which may sign them in again, and to which no form may lead.
func (s *site) serveSignOut(w http.ResponseWriter, r *http.Request) {
	s.options.People.Keeper.SignOut(w, r)
	s.writePage(w, r.WithContext(context.WithValue(r.Context(), viewerKey{}, (*session.Person)(nil))), http.StatusOK, s.findMe(nil))
}

func (s *site) serveMe(w http.ResponseWriter, r *http.Request) {
	s.writePage(w, r, http.StatusOK, s.findMe(findViewer(r.Context())))
}

func (s *site) serveMeAnswer(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, http.StatusOK, s.findMe(findViewer(r.Context())))
}

func (s *site) findMe(who *session.Person) answer.Me {
	p := s.options.People
	me := answer.Me{Groups: []string{}, Permissions: []answer.Permission{}}
	if who == nil {
		return me
	}
	me.SignedIn, me.Name, me.Email, me.Issuer, me.Subject, me.Leave = true, who.Name, who.Email, who.Issuer, who.Subject, p.Keeper.HasPage()
	me.Groups = append(me.Groups, who.Groups...)
	if p.Operator == nil {
		return me
	}
	for _, name := range s.readState().Names() {
		one := answer.Permission{Environment: name, Levers: []string{}}
		for _, l := range slices.Concat(shownLevers(), []string{lever.Merge}, lever.StackNames(), []string{permit.Force}) {
			v := p.Operator.AllowedIn(who, l, name)
			if v.Allowed {
				one.Levers = append(one.Levers, l)
			} else {
				one.Refused = append(one.Refused, v.Reason)
			}
		}
		me.Permissions = append(me.Permissions, one)
	}
	return me
}

// addPerson adds to the frame of a page that somebody reads it who signed in, and what they may do.
func (s *site) addPerson(f *page.Frame, names []string, who *session.Person) {
	p := s.options.People
	if p == nil {
		return
	}
	f.SignIn = p.Keeper.HasPage() && who == nil
	if strings.HasPrefix(f.Path, signOutPath) {
		f.Path = "/"
	}
	if who == nil {
		return
	}
	f.SignedIn, f.Local, f.Acts = true, p.Keeper.IsLocal(), p.Operator != nil
	if p.Operator == nil {
		return
	}
	f.Levers, f.StackLevers = map[string][]page.LeverLink{}, map[string][]page.LeverLink{}
	for _, name := range names {
		for _, l := range append(s.findOutputLevers(name), shownLevers()...) { // first what waits
			v := p.Operator.AllowedIn(who, l, name)
			link := page.LeverLink{Lever: l, Allowed: v.Allowed, Reason: v.Reason}
			if idle := p.Operator.IdleReason(l, name); v.Allowed && idle != "" {
				link.Allowed, link.Idle, link.Reason = false, true, idle
			}
			f.Levers[name] = append(f.Levers[name], link)
		}
		for _, l := range lever.StackNames() {
			v := p.Operator.AllowedIn(who, l, name)
			f.StackLevers[name] = append(f.StackLevers[name], page.LeverLink{Lever: l, Allowed: v.Allowed, Reason: v.Reason})
		}
	}
}

func (s *site) findOutputLevers(environment string) (all []string) {
	snapshot := s.options.Store.Snapshot()
	e, _ := snapshot.FindEnvironment(environment)
	if _, err := actions.FindRemovals(e.Withheld, environment, ""); err == nil {
		all = append(all, lever.Removals)
	}
	switch {
	case e.Pull == nil:
	case e.State == status.Proposed:
		all = append(all, lever.Merge, lever.Close)
	case e.State == status.Declined:
		all = append(all, lever.Reopen)
	}
	if stage, _ := snapshot.Chain.FindStage(environment); stage.Frozen != "" {
		all = append(all, lever.End)
	}
	return all
}

func (s *site) newReader(who *session.Person) answer.Reader {
	if who == nil {
		return answer.Reader{}
	}
	person := lever.Identity(*who)
	return answer.Reader{Person: &person, May: func(l, environment string) bool {
		return s.options.People.Operator != nil && s.options.People.Operator.AllowedIn(who, l, environment).Allowed
	}}
}

func (s *site) findWaiting(r *http.Request) answer.Inbox {
	return s.readState().Inbox(s.newReader(findViewer(r.Context())), r.URL.Query().Get("for") == "me")
}

func (s *site) serveWaiting(w http.ResponseWriter, r *http.Request) {
	f, refused := refuseFilter(s.readState(), request{row: &waitingRow, query: r.URL.Query()})
	if refused {
		missing := newMissing(f.answer)
		missing.Heading = headingOf(f.code)
		s.writePage(w, r, f.code, missing)
		return
	}
	s.writePage(w, r, http.StatusOK, s.findWaiting(r))
}

func (s *site) serveWaitingAnswer(w http.ResponseWriter, r *http.Request) {
	f, refused := refuseFilter(s.readState(), request{row: &waitingRow, query: r.URL.Query()})
	if refused {
		s.writeJSON(w, r, f.code, f.answer)
		return
	}
	s.writeJSON(w, r, http.StatusOK, s.findWaiting(r))
}

func shownLevers() []string { return append(lever.Names(), lever.Freeze) }

// roleKey tells readers apart who may do different things: their pages differ in more than what speaks of them.
func roleKey(who *session.Person) string {
	if who == nil {
		return ""
	}
	return strings.Join(append([]string{"signed in"}, who.Groups...), "\x00")
}

func (s *site) newPageReader(who *session.Person, kept page.Kept) page.Reader {
	if who == nil {
		return page.Reader{}
	}
	r := page.Reader{Name: who.Name}
	if kept.CountsWaiting() {
		r.Waiting = strconv.Itoa(len(s.readState().Inbox(s.newReader(who), true).Items))
	}
	return r
}
