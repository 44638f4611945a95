package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
)

// maxQuery bounds the text of a question.
const maxQuery = 256

type found struct {
	answer any
	// code is that of the answer.
	code int
	// redirect is the path, from the root of the site, of the page that says more; "" if there is none.
	redirect string
	// isRefused is set if the request itself is wrong: its page is not shown.
	isRefused bool
}

func newFound(of any) found { return found{answer: of, code: http.StatusOK} }

func redirectTo(path string) found { return found{code: http.StatusFound, redirect: path} }

func failWith(code int, sentence, hint string) found {
	return found{answer: errorAnswer{sentence, hint}, code: code}
}

func answerMissing(sentence, hint string) found { return failWith(http.StatusNotFound, sentence, hint) }

// findAt returns what there is at the path of a page. The page is made from the same answer as the one that the API gives.
func (s *site) findAt(ctx context.Context, src answer.Source, q request) found {
	if q.row == nil {
		return answerMissing(NothingHere, "")
	}
	if f, refused := refuseFilter(src, q); refused {
		return f
	}
	if q.isPast() && q.row.path != changesPath {
		if s.options.Past == nil || q.row.past == nil {
			f := failWith(http.StatusBadRequest, presentAlone, pastHint)
			f.isRefused = q.row.past == nil
			return f
		}
		return q.row.past(ctx, src, q)
	}
	if q.row.ask != nil {
		return q.row.ask(ctx, src, q)
	}
	return q.row.read(src, q)
}

func newProblemFilter(query url.Values, text string) answer.ProblemFilter {
	return answer.ProblemFilter{Environment: query.Get("env"), Kind: cmp.Or(query.Get("kind"), query.Get("severity")), Text: text, Page: readPage(query)}
}

func newCommitFilter(query url.Values, text string) answer.CommitFilter {
	return answer.CommitFilter{Text: text, Author: query.Get("author"), Environment: query.Get("env"), Path: query.Get("path"), Page: readPage(query)}
}

func newEnvironmentFilter(q request) answer.EnvironmentFilter {
	return answer.EnvironmentFilter{Text: q.text(), State: q.query.Get("state")}
}

func readPage(query url.Values) int {
	number, _ := strconv.Atoi(query.Get("page")) // another text is the first page
	return number
}

// findEnvironment returns the environment of a path, or what was done last to one that is gone.
func (s *site) findEnvironment(ctx context.Context, src answer.Source, q request) found {
	f := findEnvironment(src, q.names[0])
	if f.code == http.StatusNotFound {
		return s.findRetired(ctx, f, q.names[0])
	}
	return f
}

func findEnvironment(src answer.Source, name string) found {
	one, ok := src.Environment(name)
	if ok {
		return newFound(one)
	}
	return answerUnknown("environment", name, src.Names(), "environments")
}

// findCommit returns where a commit is. A part of its id leads to the whole one.
func findCommit(src answer.Source, id string) found {
	journey, ok := src.Journey(id)
	if ok {
		return newFound(journey)
	}
	switch ids := src.FindCommits(id); len(ids) {
	case 0:
		if src.At != "" {
			return answerMissing(fmt.Sprintf("commit %q is not among the newest that the base had then", id), "it may have been made later")
		}
		hint := "a commit is named by 4 or more of its hexadecimal digits"
		if text.IsCommitPrefix(id) {
			hint = "fairlead simulate " + id + " tells of older ones"
		}
		return found{answer: missingAnswer{errorAnswer{fmt.Sprintf("commit %q is not among the newest of the base, nor of the branches of environments", id), hint}, "commits", ""}, code: http.StatusNotFound}
	case 1:
		return redirectTo("commits/" + ids[0])
	default:
		return answerMissing(fmt.Sprintf("several commits begin with %q", id), "write more of its id")
	}
}

// searchNames returns what has a text in its name; a whole name leads there. Pull requests that are not open are those
// of what was done.
func searchNames(src answer.Source, text string, done []history.Entry) found {
	names := src.Search(text)
	names.Pulls = src.FindPulls(text, done)
	f := newFound(names)
	_, isEnvironment := src.Environment(text)
	ids := src.FindCommits(text)
	switch {
	case len(names.Pulls) == 1 && strings.HasPrefix(text, "#"):
		f.redirect = fmt.Sprintf("environments/%s/pulls/%d", url.PathEscape(names.Pulls[0].Environment), names.Pulls[0].Number)
	case isEnvironment:
		f.redirect = "environments/" + url.PathEscape(text)
	case len(src.FindStackEnvironments(text)) == 1:
		f.redirect = "stacks/" + strings.ReplaceAll(url.PathEscape(text), "%2F", "/")
	case len(ids) == 1:
		f.redirect = "commits/" + ids[0]
	default:
		f.redirect = findNamed(src, text)
	}
	return f
}

// findNamed returns the path of the workload, the cluster type or the cluster of a name; "" if there is none, or
// several.
func findNamed(src answer.Source, name string) (path string) {
	for list, names := range map[string][]string{"workloads": src.WorkloadNames(), "cluster-types": src.ClusterTypeNames(), "clusters": src.ClusterNames()} {
		if _, isThere := slices.BinarySearch(names, name); !isThere {
			continue
		}
		if path != "" {
			return ""
		}
		path = list + "/" + url.PathEscape(name)
	}
	return path
}

// newPage returns the page of an answer: with how it was asked for, where it can be asked in several ways.
func newPage(of any, q request, names []string) any {
	if q.row != nil && q.row.show != nil {
		of = q.row.show(of, q, names)
	}
	if a, isTabled := of.(answer.Tabled); isTabled && q.row != nil && q.row.template != "" {
		of = page.Listed{Tabled: a, Template: q.row.template, Query: q.query, Environments: names}
	}
	switch of.(type) {
	case errorAnswer, missingAnswer:
		return newMissing(of)
	}
	return of
}

func showForecast(of any, _ request, _ []string) any {
	a, _ := of.(answer.Forecast)
	return page.Forecast{Forecast: a, Refusal: newMissing(of)}
}

func showExplanation(of any, q request, names []string) any {
	a, _ := of.(answer.Explanation)
	missing := newMissing(of)
	a.Environment, a.Query = q.query.Get("env"), q.query.Get("q")
	if a.Environment == "" || a.Query == "" {
		missing = page.Missing{Error: "choose an environment, and write what to explain in it"}
	}
	return page.Explain{Explanation: a, At: q.query.Get("at"), Environments: names, Refusal: missing}
}

func showDifferences(of any, q request, names []string) any {
	a, _ := of.(answer.Differences)
	missing := newMissing(of)
	a.From, a.To, a.Kind = q.query.Get("from"), q.query.Get("to"), q.query.Get("kind")
	if a.From == "" || a.To == "" {
		missing = page.Missing{Error: "choose two environments"}
	}
	return page.Diff{Differences: a, Environments: names, Refusal: missing}
}
