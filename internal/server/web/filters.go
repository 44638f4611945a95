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
	"github.com/fairlead-io/fairlead/internal/change/drift"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
)

var (
	// commonParameters are those that pages may have and that select nothing of a list. A page without a past says so.
	commonParameters = []string{"at", "page", "cpage", "refresh"}
	// listFilters are the parameters that select in each list, and those of questions. Its page, its answer and its table have the same, and
	// openapi.json describes them.
	listFilters = map[string][]string{
		environmentsPath: {"q", "state"}, "/commits": {"q", "author", "env", "path"}, "/problems": {"q", "env", "kind", "severity"}, "/workloads": {"q", "team"}, "/cluster-types": {"q", "label"},
		"/fleet":    {"q", "env", "team", "state", "version", "type", "region", "workload", "target", "rows", "cols", "differs"},
		historyPath: {"q", "env", "who", "what", "since", "until", "forced"}, figuresPath: {}, stacksPath: {"q", "env", "state"}, mapPath: {"env", "pull", "at.x", "at.y"}, waitingPath: {"for"},
		explainPath: {"env", "q"}, diffPath: {"from", "to", "kind"},
	}
)

// refuseFilter returns that a list has no such filter, or nothing of the name that it selects, and whether that is
// so: what was mistyped must not look like an answer.
func refuseFilter(src answer.Source, path string, query url.Values) (found, bool) {
	has, isList := listFilters[path]
	if !isList {
		return found{}, false
	}
	refuse := func(sentence, hint string) (found, bool) {
		return found{errorAnswer{sentence, hint}, http.StatusBadRequest, ""}, true
	}
	for _, word := range slices.Sorted(maps.Keys(query)) {
		value := query.Get(word)
		if len(query[word]) > 1 && (slices.Contains(has, word) || slices.Contains(commonParameters, word)) {
			return refuse(fmt.Sprintf("%s is there %d times", word, len(query[word])), "write it once")
		}
		if number, err := strconv.Atoi(value); value != "" && (word == "page" || word == "cpage") && (err != nil || number < 1) {
			return refuse(fmt.Sprintf("%s is no number of a page: %q", word, value), "the first page is 1")
		}
		if slices.Contains(commonParameters, word) {
			continue
		}
		if !slices.Contains(has, word) {
			hint := "it has none"
			if len(has) > 0 {
				hint = "it has " + strings.Join(has, ", ")
			}
			what := "this list has no filter "
			if path == mapPath {
				what, hint = "the map has no parameter ", hint+", at"
			}
			if path == explainPath || path == diffPath {
				what = "this question has no parameter "
			}
			return refuse(what+text.Limit(text.OneLine(word), maxQuery), withNearest(word, has, hint))
		}
		if value == "" {
			continue
		}
		if word == "env" && path != mapPath { // which names those that have one
			if _, known := src.Environment(value); !known {
				return findEnvironment(src, value), true
			}
		}
		if word == "team" && query.Get("at") == "" { // the past had others
			if teams := src.ListTeams(); len(teams) > 0 && !slices.Contains(teams, value) {
				return refuse(fmt.Sprintf("the filter team has no value %q", value), withNearest(value, teams, "the form of the list has the teams"))
			}
		}
		if known := filterValues(path, word); known != nil && !slices.ContainsFunc(known, func(one string) bool { return isValue(word, one, value) }) {
			return refuse(fmt.Sprintf("the filter %s has no value %q", word, value), withNearest(value, known, "it has "+strings.Join(known, ", ")))
		}
		if key, _, isLabel := strings.Cut(value, "="); word == "label" && (!isLabel || key == "") {
			return refuse(fmt.Sprintf("the filter label is no KEY=VALUE: %q", value), "write it as region=west")
		}
		if _, isTime := page.ParseBound(value, false); !isTime && (word == "since" || word == "until") {
			return refuse(fmt.Sprintf("the filter %s is no date: %q", word, value), "write it as 2026-12-24 or 2026-12-24T10:00:00Z")
		}
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

// isValue reports whether a value of a filter is the one that was asked for.
func isValue(word, one, asked string) bool {
	return one == asked || word == "state" && answer.IsSameState(one, asked)
}

// filterValues returns the values that a filter of a list may have; nil for any.
func filterValues(path, word string) []string {
	switch word {
	case "kind", "severity":
		if path == diffPath {
			return drift.TopicNames()
		}
		return answer.ProblemKinds()
	case "rows", "cols":
		return answer.FleetSides()
	case "for":
		return []string{"me"}
	case "forced", "differs":
		return []string{"on"}
	case "state":
		words := map[string][]string{environmentsPath: answer.EnvironmentWords(), stacksPath: answer.StackWords(), "/fleet": answer.AssignmentWords()}[path]
		tones := list.Convert(answer.AllTones(), func(t answer.Tone) string { return string(t) })
		return append(tones, slices.DeleteFunc(words, func(one string) bool { return slices.Contains(tones, one) })...)
	}
	return nil
}
