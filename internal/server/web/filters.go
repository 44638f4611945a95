package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// filterWords are the parameters that select on pages of lists, and listFilters those that each list has.
var (
	filterWords = []string{"q", "env", "team", "state", "version", "since", "until", "author", "path", "kind", "who", "what", "forced", "type", "region", "workload", "target", "rows", "cols", "differs"}
	listFilters = map[string][]string{
		"/environments": {"q", "state"}, "/commits": {"q", "author", "env", "path"}, "/problems": {"q", "env", "kind"}, "/workloads": {"q", "team"}, "/cluster-types": {"q"},
		"/fleet":    {"q", "env", "team", "state", "version", "type", "region", "workload", "target", "rows", "cols", "differs"},
		historyPath: {"q", "env", "who", "what", "since", "until", "forced"}, figuresPath: {},
	}
)

// refuseFilter returns that a list has no such filter, or nothing of the name that it selects, and whether that is
// so: what was mistyped must not look like an answer.
func refuseFilter(src answer.Source, path string, query url.Values) (found, bool) {
	has, isList := listFilters[path]
	if !isList {
		return found{}, false
	}
	for _, word := range filterWords {
		value := query.Get(word)
		if value == "" {
			continue
		}
		if !slices.Contains(has, word) {
			hint := "it has none"
			if len(has) > 0 {
				hint = "it has " + strings.Join(has, ", ")
			}
			return found{errorAnswer{fmt.Sprintf("this list has no filter %s", word), hint}, http.StatusBadRequest, ""}, true
		}
		if word == "env" {
			if _, known := src.Environment(value); !known {
				return findEnvironment(src, value), true
			}
		}
		if known := filterValues(word); known != nil && !slices.Contains(known, value) {
			return found{errorAnswer{fmt.Sprintf("the filter %s has no value %q", word, value), "it has " + strings.Join(known, ", ")}, http.StatusBadRequest, ""}, true
		}
		if _, err := time.Parse(time.DateOnly, value); err != nil && (word == "since" || word == "until") {
			return found{errorAnswer{fmt.Sprintf("the filter %s is no date: %q", word, value), "write it as 2026-12-24"}, http.StatusBadRequest, ""}, true
		}
	}
	return found{}, false
}

// filterValues returns the values that a filter may have; nil for any.
func filterValues(word string) (all []string) {
	switch word {
	case "kind":
		return answer.ProblemKinds()
	case "rows", "cols":
		return answer.FleetSides()
	case "state":
		for _, tone := range answer.AllTones() {
			all = append(all, string(tone))
		}
	}
	return all
}
