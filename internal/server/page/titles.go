package page

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// filterWords are the parameters that select what a list shows, in the order in which its title names them, and how.
var filterWords = []struct{ name, format string }{
	{"q", "“%s”"}, {"kind", "%s"}, {"what", ""}, {"forced", "only forced"}, {"differs", "where versions differ"}, {"workload", "%s"}, {"target", "target %s"}, {"version", "at %s"},
	{"who", "by %s"}, {"author", "by %s"}, {"team", "of team %s"}, {"type", "on %s"}, {"label", "with %s"}, {"region", "in region %s"}, {"env", "in %s"}, {"state", "with state %s"}, {"since", "since %s"}, {"until", "until %s"},
}

// listPages are the pages whose titles name what was asked for.
var listPages = []string{"problems", "commits", "history", "workloads", "cluster-types", "stacks", "search", "environments"}

func (f Frame) describeFilter(name string) string {
	_, raw, _ := strings.Cut(f.Path, "?")
	query, _ := url.ParseQuery(raw) // what can be read of it
	if !slices.Contains(listPages, name) {
		query = url.Values{"at": query["at"]}
	}
	return describeQuery(query, name)
}

func describeQuery(query url.Values, name string) string {
	var words []string
	for _, w := range filterWords {
		value := query.Get(w.name)
		switch {
		case value == "":
		case w.name == "what":
			words = append(words, actionText(findAction(value)))
		case w.name == "env" && name == "commits": // it selects those that the environment does not have
			words = append(words, "on the way to "+value)
		case !strings.Contains(w.format, "%s"):
			words = append(words, w.format)
		default:
			words = append(words, fmt.Sprintf(w.format, value))
		}
	}
	if query.Get("rows")+query.Get("cols") != "" {
		words = append(words, "by "+sideText(cmp.Or(query.Get("rows"), answer.ByWorkload))+" and "+sideText(cmp.Or(query.Get("cols"), answer.ByEnvironment)))
	}
	described := strings.Join(words, " ")
	for _, w := range []struct{ name, word string }{{"page", "page"}, {"cpage", "columns page"}, {"at", "at"}} {
		value := query.Get(w.name)
		if value != "" && (w.name == "at" || value != "1") {
			described += ", " + w.word + " " + value
		}
	}
	described = strings.TrimPrefix(described, ", ")
	if described == "" {
		return ""
	}
	return ": " + described
}

// Title returns the title of the page, and its heading.
func (v Fleet) Title() string {
	_, raw, _ := strings.Cut(addressOf(v.Filter), "?")
	query, _ := url.ParseQuery(raw) // our own
	return "Fleet" + describeQuery(query, "fleet")
}

// Crumbs returns the parts of the filter that have no field, each with a link to the fleet as it and those before it
// select.
func (v Fleet) Crumbs() (all []chip) {
	f := answer.FleetFilter{}
	for _, p := range fleetParameters {
		value := *p.field(&v.Filter)
		if value == "" || !slices.Contains(kept, p.name) {
			continue
		}
		*p.field(&f) = value
		all = append(all, chip{nil, value, addressOf(nextLevel(f))})
	}
	return all
}

func titleInbox(of answer.Inbox) string {
	if of.For != "" {
		return "What waits for me"
	}
	return "What waits"
}
