package web

import (
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/lever"
	"github.com/fairlead-io/fairlead/internal/server/page"
)

// maxLeverBody bounds the body of a request for an action.
const maxLeverBody = 64 << 10

type leverBody struct {
	Environment string `json:"env,omitempty"`
	// Environments, Name, From and To are of a freeze.
	Environments []string `json:"environments,omitempty"`
	Name         string   `json:"name,omitempty"`
	From         string   `json:"from,omitempty"`
	To           string   `json:"to,omitempty"`
	Commit       string   `json:"commit,omitempty"`
	// Stack and the following are of a stack.
	Stack     string `json:"stack,omitempty"`
	Component string `json:"component,omitempty"`
	Inputs    string `json:"inputs,omitempty"`
	Digest    string `json:"digest,omitempty"`
	Typed     string `json:"typed,omitempty"`
	Scope     string `json:"scope,omitempty"`
	Lane      string `json:"lane,omitempty"`
	Wave      string `json:"wave,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Force     bool   `json:"force,omitempty"`
	// Seen is what GET says in the field seen, or "force".
	Seen string `json:"seen"`
}

func (b leverBody) request(r *http.Request) lever.Request {
	q := lever.Request{
		Lever: r.PathValue("lever"), Environment: b.Environment, Commit: b.Commit, Scope: b.Scope, Lane: b.Lane, Wave: b.Wave, Reason: b.Reason, Force: b.Force, Address: r.RemoteAddr,
		Name: b.Name, Environments: b.Environments, From: b.From, To: b.To,
		StackTarget: lever.StackTarget{Stack: b.Stack, Component: b.Component, Inputs: b.Inputs, Digest: b.Digest, Typed: b.Typed},
	}
	if slices.Contains(lever.FreezeNames(), q.Lever) { // env names those of the freeze
		if b.Environment != "" && len(q.Environments) == 0 {
			q.Environments = []string{b.Environment}
		}
		q.Environment = ""
	}
	return q
}

func readLeverForm(values url.Values) leverBody {
	return leverBody{
		Environment: values.Get("env"), Commit: values.Get("commit"), Scope: values.Get("scope"), Lane: values.Get("lane"), Wave: values.Get("wave"), Reason: values.Get("reason"),
		Force: values.Get("force") == "true", Seen: values.Get("seen"), Name: values.Get("name"), From: page.ReadFormTime(values.Get("from")), To: page.ReadFormTime(values.Get("to")),
		Environments: values["env"], Stack: values.Get("stack"), Component: values.Get("component"), Inputs: values.Get("inputs"), Digest: strings.TrimSpace(values.Get("digest")), Typed: strings.TrimSpace(values.Get("typed")),
	}
}

// leverParameters are those that actions have.
var leverParameters = []string{"env", "commit", "scope", "lane", "wave", "reason", "force", "seen", "name", "from", "to", "stack", "component", "inputs", "digest", "typed"}

// checkParameters returns the refusal of a parameter that no action has: what was mistyped must not widen what is done.
func checkParameters(values url.Values) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(leverParameters, name) {
			return &problem.Refusal{Reason: "actions have no parameter " + name, Advice: "they have " + strings.Join(leverParameters, ", "), Kind: lever.ErrMalformed}
		}
	}
	return nil
}

func (s *site) previewLever(r *http.Request) (answer.Lever, error) {
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" { // a link is followed, an image is not
		return answer.Lever{}, &problem.Refusal{Reason: "a page of another site asks for this", Kind: lever.ErrNotAllowed}
	}
	err := checkParameters(r.URL.Query())
	if err != nil {
		return answer.Lever{}, err
	}
	return s.options.People.Operator.Preview(r.Context(), findViewer(r.Context()), readLeverForm(r.URL.Query()).request(r))
}

func (s *site) serveLever(w http.ResponseWriter, r *http.Request) {
	if findViewer(r.Context()) == nil {
		s.demandSignIn(w, r)
		return
	}
	l, err := s.previewLever(r)
	if err != nil {
		s.refuseLever(w, r, err)
		return
	}
	s.writePage(w, r, http.StatusOK, l)
}

func (s *site) serveLeverAnswer(w http.ResponseWriter, r *http.Request) {
	l, err := s.previewLever(r)
	if err != nil {
		s.refuseLever(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusOK, l)
}

// extendDeadlines gives an action the time that it needs: it fetches, renders and pushes.
func extendDeadlines(w http.ResponseWriter) {
	out := http.NewResponseController(w)
	until := time.Now().Add(leverTimeout)
	_ = out.SetWriteDeadline(until) // tests have none
	_ = out.SetReadDeadline(until)
}

// leverTimeout bounds one action.
const leverTimeout = 2 * time.Minute

func (s *site) serveLeverForm(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxLeverBody)
	err := r.ParseForm()
	if err != nil {
		s.refusePerson(w, r, http.StatusBadRequest, "the form cannot be read", "open the page again")
		return
	}
	err = checkParameters(r.PostForm)
	if err != nil {
		s.refuseLever(w, r, err)
		return
	}
	body := readLeverForm(r.PostForm)
	if body.Seen == lever.Unseen { // for programs alone: what a person confirms, the person has seen
		body.Seen = ""
	}
	extendDeadlines(w)
	done, now, err := s.options.People.Operator.Perform(r.Context(), findViewer(r.Context()), body.request(r), body.Seen)
	switch {
	case errors.Is(err, lever.ErrMoved):
		s.writePage(w, r, http.StatusConflict, now)
	case err != nil:
		s.refuseLever(w, r, err)
	default:
		said := url.Values{"written": {done.Commit}}
		switch {
		case slices.Contains(lever.PullNames(), done.Action):
			said = url.Values{"done": {done.Summary}}
		case done.Pull != nil:
			said = url.Values{"proposed": {strconv.Itoa(done.Pull.Number)}}
		}
		if body.Stack != "" {
			said.Set("env", body.Environment)
		}
		w.Header().Set("Location", "../"+s.findShown(body)+"?"+said.Encode())
		w.WriteHeader(http.StatusSeeOther)
	}
}

// askedAgain returns the query of the page of an action that a form was sent from, with what was typed into it; "" for
// other requests.
func askedAgain(r *http.Request) string {
	if r.Method != http.MethodPost || r.PathValue("lever") == "" {
		return ""
	}
	return askedBefore(r.PostForm)
}

func askedBefore(form url.Values) string {
	asked := maps.Clone(form)
	delete(asked, "seen")
	delete(asked, "typed")
	return asked.Encode()
}

// findShown returns the path of the page that shows what was done: of the stack, or of the environment; of a freeze
// of all, the first one.
func (s *site) findShown(body leverBody) string {
	if team, name, isStack := strings.Cut(body.Stack, "/"); isStack {
		return "stacks/" + url.PathEscape(team) + "/" + url.PathEscape(name)
	}
	names := s.readState().Names()
	if body.Environment == "" && len(names) > 0 {
		return "environments/" + url.PathEscape(names[0])
	}
	return "environments/" + url.PathEscape(body.Environment)
}

// movedAnswer is the answer to an action on what is not there any more.
type movedAnswer struct {
	errorAnswer
	Now answer.Lever `json:"now"`
}

func (s *site) serveLeverRequest(w http.ResponseWriter, r *http.Request) {
	var body leverBody
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxLeverBody))
	decoder.DisallowUnknownFields()
	if r.Header.Get("Content-Type") != "application/json" || decoder.Decode(&body) != nil {
		s.writeJSON(w, r, http.StatusBadRequest, errorAnswer{"the request cannot be read", `send application/json, as in {"env": "prod", "reason": "a test", "seen": "force"}`})
		return
	}
	extendDeadlines(w)
	done, now, err := s.options.People.Operator.Perform(r.Context(), findViewer(r.Context()), body.request(r), body.Seen)
	switch {
	case errors.Is(err, lever.ErrMoved):
		s.writeJSON(w, r, http.StatusConflict, movedAnswer{errorAnswer{err.Error(), "look again"}, now})
	case err != nil:
		s.refuseLever(w, r, err)
	default:
		s.writeJSON(w, r, http.StatusOK, done)
	}
}

func (s *site) refuseLever(w http.ResponseWriter, r *http.Request, err error) {
	var refused *problem.Refusal
	hint := ""
	if errors.As(err, &refused) {
		hint = refused.Hint()
	}
	code := http.StatusServiceUnavailable
	switch {
	case findViewer(r.Context()) == nil:
		code = http.StatusUnauthorized
	case errors.Is(err, lever.ErrNotAllowed):
		code = http.StatusForbidden
	case errors.Is(err, lever.ErrTooMany):
		code = http.StatusTooManyRequests
		w.Header().Set("Retry-After", "60")
	case errors.Is(err, lever.ErrUnknown), errors.Is(err, git.ErrNoRevision):
		code = http.StatusNotFound
	case errors.Is(err, lever.ErrMalformed):
		code = http.StatusBadRequest
	case errors.Is(err, git.ErrRefused):
		code, hint = http.StatusConflict, "the server of the control plane lets nobody push to this branch: use the command with --pull-request"
	case refused != nil:
		code = http.StatusConflict
	default:
		s.options.Logger.WarnContext(r.Context(), "an action failed", slog.String("path", r.URL.Path), slog.Any("error", err))
		hint = "the log of the daemon says more"
	}
	s.refusePerson(w, r, code, answer.CleanText(err.Error()), hint)
}
