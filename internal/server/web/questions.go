package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// The paths of questions that are rendered for. A page with such an answer does not follow the state.
const (
	explainPath = "/explain"
	diffPath    = "/diff"
)

const (
	// maxQuestions is how many questions may begin within a minute, for a cycle waits for them.
	maxQuestions = 60
	// questionTimeout bounds one, with its wait for the cycle that runs.
	questionTimeout = 20 * time.Second
	// maxAnswer bounds the text of an answer.
	maxAnswer = 256 << 10
)

func isQuestion(path string) bool {
	return path == explainPath || path == diffPath || path == historyPath || path == figuresPath || isForecast(path)
}

// hasQuestion reports whether a question can be answered.
func (s *site) hasQuestion(path string) bool {
	switch path {
	case historyPath, figuresPath:
		return s.options.History != nil
	case forecastPath:
		return s.options.Simulate != nil
	}
	return s.options.Explain != nil && s.options.Compare != nil
}

// findAt returns what there is at the path of a page.
func (s *site) findAt(ctx context.Context, src answer.Source, path string, query url.Values) found {
	if f, refused := refuseFilter(src, path, query); refused {
		return f
	}
	if environment, from, to, isChanges := parseChanges(path); isChanges {
		return s.findChanges(ctx, src, path, environment, from, to)
	}
	if isPastQuery(path, query) && (path != explainPath || query.Get("q") != "" && query.Get("env") != "") {
		return s.findPast(ctx, src, path, query)
	}
	if !isQuestion(path) {
		if path == searchPath && pullNumber.MatchString(readText(query)) && s.options.History != nil {
			return s.findNumber(ctx, src, readText(query))
		}
		f := findAnswer(src, path, query)
		if past, isPast := f.answer.(pastPull); isPast {
			return s.findPastPull(ctx, src, path, past)
		}
		if name, isOne := strings.CutPrefix(path, "/environments/"); isOne && f.code == http.StatusNotFound {
			return s.findRetired(ctx, f, name)
		}
		return s.addApproval(ctx, f)
	}
	switch {
	case path == historyPath:
		return s.findHistory(ctx, src, query)
	case path == figuresPath:
		return s.findFigures(ctx, src)
	case isForecast(path):
		return s.findForecast(ctx, src, path)
	}
	names, asked := []string{query.Get("env")}, query.Get("q")
	if path == diffPath {
		names, asked = []string{query.Get("from"), query.Get("to")}, "it"
	}
	for _, name := range names {
		_, known := src.Environment(name)
		switch {
		case name == "" || asked == "":
			verb, example := "explain", "explain?env=ENVIRONMENT&q=NAME"
			if path == diffPath {
				verb, example = "compare", "diff?from=ENVIRONMENT&to=ENVIRONMENT"
			}
			return found{errorAnswer{"the query does not say what to " + verb, "write /api/v1/" + example}, http.StatusBadRequest, ""}
		case !known:
			return findEnvironment(src, name)
		}
	}
	if len(asked) > maxQuery {
		return found{errorAnswer{"the question is too long", "ask with a name"}, http.StatusBadRequest, ""}
	}
	refusal, refused := s.admitQuestion()
	if refused {
		return refusal
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionTimeout)
	defer cancel()
	if path == diffPath {
		report, err := s.options.Compare(ctx, names[0], names[1])
		if err != nil {
			return s.refuseAnswer(ctx, path, err)
		}
		return found{src.Differences(report, query.Get("kind"), maxAnswer), http.StatusOK, ""}
	}
	document, err := s.options.Explain(ctx, names[0], asked)
	if err != nil {
		return s.refuseAnswer(ctx, path, err)
	}
	return found{src.Explanation(names[0], asked, document, maxAnswer), http.StatusOK, ""}
}

// findRetired returns what was done last to an environment that is not there any more; f if nothing was.
func (s *site) findRetired(ctx context.Context, f found, escaped string) found {
	name, err := url.PathUnescape(escaped)
	if s.options.History == nil || err != nil {
		return f
	}
	if _, refused := s.admitQuestion(); refused {
		return f
	}
	all, err := s.options.History(ctx)
	last := slices.IndexFunc(all.Entries, func(e history.Entry) bool { return e.Environment == name })
	if err != nil || last < 0 {
		return f
	}
	e := all.Entries[last]
	sentence := fmt.Sprintf("there is no environment %q any more: the last that was done there is %q by %s, at %s, in commit %s", name, answer.CleanText(e.Title), answer.CleanText(e.Who), e.Time.UTC().Format(time.RFC3339), e.Commit)
	return found{missingAnswer{errorAnswer{sentence, api + "/environments lists those that there are"}, "environments", ""}, http.StatusNotFound, ""}
}

// admitQuestion returns that too many questions began, and whether that is so.
func (s *site) admitQuestion() (found, bool) {
	if s.questions.admit(s.options.Now(), maxQuestions) == 0 {
		return found{}, false
	}
	return found{errorAnswer{fmt.Sprintf("%d questions began within a minute, which is the most", maxQuestions), "ask again in a minute"}, http.StatusTooManyRequests, ""}, true
}

// pastPull stands for the answer of a pull request that is not open, until it is asked for.
type pastPull struct {
	environment string
	number      int
}

// findPastPull returns what a pull request meant that was merged or closed, or what one changes that problems keep from
// being updated.
func (s *site) findPastPull(ctx context.Context, src answer.Source, path string, p pastPull) found {
	if s.options.Pull == nil {
		return answerMissing(fmt.Sprintf("environment %q has no open pull request %q", p.environment, strconv.Itoa(p.number)), "its forge knows those that were merged")
	}
	refusal, refused := s.admitQuestion()
	if refused {
		return refusal
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionTimeout)
	defer cancel()
	past, err := s.options.Pull(ctx, p.environment, p.number)
	if err != nil {
		return s.refuseAnswer(ctx, path, err)
	}
	if past.State == forge.Open && !src.IsStalePull(p.environment, p.number) { // since the last cycle
		return answerMissing(fmt.Sprintf("what pull request %d changes is not known yet", p.number), "the next cycle finds it")
	}
	return found{src.PastPull(p.environment, past), http.StatusOK, ""}
}

// refuseAnswer returns why a question has no answer.
func (s *site) refuseAnswer(ctx context.Context, path string, err error) found {
	var unknown *explain.QueryError
	var hinted interface{ Hint() string }
	switch {
	case errors.As(err, &unknown):
		return found{errorAnswer{unknown.Summary, unknown.Hint}, http.StatusNotFound, ""}
	case errors.Is(err, context.DeadlineExceeded):
		return found{errorAnswer{"a cycle runs, and the question waits for its end", "ask again in a minute"}, http.StatusServiceUnavailable, ""}
	case errors.As(err, &hinted):
		return found{errorAnswer{err.Error(), hinted.Hint()}, http.StatusConflict, ""}
	}
	s.options.Logger.WarnContext(ctx, "a question has no answer", slog.String("path", path), slog.Any("error", err))
	return found{errorAnswer{"the question has no answer now: " + answer.CleanText(err.Error()), "the log of the daemon says why"}, http.StatusServiceUnavailable, ""}
}
