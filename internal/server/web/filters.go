package web

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
)

// commonParameters are those that pages may have and that select nothing of a list. A page without a past says so.
var commonParameters = []string{"at", "page", "cpage", "refresh"}

// refuseFilter returns that a page has no such parameter, or nothing of the name that it selects, and whether that is
// so: what was mistyped must not look like an answer.
func refuseFilter(src answer.Source, q request) (found, bool) {
	if q.row.isOpen {
		return found{}, false
	}
	for _, word := range slices.Sorted(maps.Keys(q.query)) {
		if f, refused := q.row.refuseParameter(src, word, q.query); refused {
			f.isRefused = f.code == http.StatusBadRequest
			return f, true
		}
	}
	return found{}, false
}

// refuseParameter returns that a page has no parameter of a name, or no such value of it, and whether that is so.
func (r *pageRow) refuseParameter(src answer.Source, word string, query url.Values) (found, bool) {
	refuse := func(sentence, hint string) (found, bool) {
		return failWith(http.StatusBadRequest, sentence, hint), true
	}
	has := list.Convert(r.filters, func(p param) string { return p.name })
	i, value := slices.Index(has, word), query.Get(word)
	isCommon := slices.Contains(commonParameters, word)
	switch number, err := strconv.Atoi(value); {
	case len(query[word]) > 1 && (i >= 0 || isCommon):
		return refuse(fmt.Sprintf("%s is there %d times", word, len(query[word])), "write it once")
	case value != "" && (word == "page" || word == "cpage") && (err != nil || number < 1):
		return refuse(fmt.Sprintf("%s is no number of a page: %q", word, value), "the first page is 1")
	case isCommon || i >= 0 && value == "":
		return found{}, false
	case i < 0:
		hint := "it has none"
		if len(has) > 0 {
			hint = "it has " + strings.Join(has, ", ")
		}
		what := map[string]string{"": "this list has no filter ", "map": "the map has no parameter ", "question": "this question has no parameter "}[r.noun]
		if r.noun == "map" {
			hint += ", at"
		}
		return refuse(what+text.Limit(text.OneLine(word), maxQuery), withNearest(word, has, hint))
	}
	return r.refuseValue(src, r.filters[i], query)
}

func (r *pageRow) refuseValue(src answer.Source, p param, query url.Values) (found, bool) {
	refuse := func(sentence, hint string) (found, bool) {
		return failWith(http.StatusBadRequest, sentence, hint), true
	}
	value := query.Get(p.name)
	if p.name == "env" && r.noun != "map" { // which names those that have one
		if _, known := src.Environment(value); !known {
			return findEnvironment(src, value), true
		}
	}
	if p.name == "team" && query.Get("at") == "" { // the past had others
		if teams := src.ListTeams(); len(teams) > 0 && !slices.Contains(teams, value) {
			return refuse(fmt.Sprintf("the filter team has no value %q", value), withNearest(value, teams, "the form of the list has the teams"))
		}
	}
	if len(p.values) > 0 && !slices.ContainsFunc(p.values, func(one string) bool { return isValue(p.name, one, value) }) {
		return refuse(fmt.Sprintf("the filter %s has no value %q", p.name, value), withNearest(value, p.values, "it has "+strings.Join(p.values, ", ")))
	}
	if key, _, isLabel := strings.Cut(value, "="); p.name == "label" && (!isLabel || key == "") {
		return refuse(fmt.Sprintf("the filter label is no KEY=VALUE: %q", value), "write it as region=west")
	}
	if _, isTime := page.ParseBound(value, false); !isTime && (p.name == "since" || p.name == "until") {
		return refuse(fmt.Sprintf("the filter %s is no date: %q", p.name, value), "write it as 2026-12-24 or 2026-12-24T10:00:00Z")
	}
	return found{}, false
}

// withNearest returns a hint that lists what there is, after what was probably meant: a word that is nearly the same, or
// that the other one begins with, as "env" of "environment".
func withNearest(word string, known []string, hint string) string {
	nearest := problem.DidYouMean(word, known)
	for _, one := range known {
		if nearest == "" && len(one) > 2 && strings.HasPrefix(word, one) && word != one {
			nearest = fmt.Sprintf("did you mean %q?", one)
		}
	}
	return strings.TrimSpace(nearest + " " + hint)
}

func isValue(word, one, asked string) bool {
	return one == asked || word == "state" && answer.IsSameState(one, asked)
}
