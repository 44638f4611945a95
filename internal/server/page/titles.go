package page

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// filterWords are the parameters that select what a list shows, in the order in which its title names them, and how.
var filterWords = []struct{ name, format string }{
	{"q", "“%s”"}, {"kind", "%s"}, {"what", ""}, {"forced", "only forced"}, {"differs", "where versions differ"}, {"workload", "%s"}, {"target", "target %s"}, {"version", "at %s"},
	{"who", "by %s"}, {"author", "by %s"}, {"team", "of team %s"}, {"type", "on %s"}, {"region", "in region %s"}, {"env", "in %s"}, {"state", "with state %s"}, {"since", "since %s"}, {"until", "until %s"},
}

// listPages are the pages whose titles name what was asked for.
var listPages = []string{"problems", "commits", "history", "workloads", "cluster-types", "stacks", "search"}

// describeFilter returns what the title of a page says besides its name: how it was asked for.
func (f Frame) describeFilter(name string) string {
	_, raw, _ := strings.Cut(f.Path, "?")
	query, _ := url.ParseQuery(raw) // what can be read of it
	if !slices.Contains(listPages, name) {
		query = url.Values{"at": query["at"]}
	}
	return describeQuery(query, name)
}

// describeQuery returns what a query asks of a page, to be written after its name.
func describeQuery(query url.Values, name string) string {
	var words []string
	for _, w := range filterWords {
		value := query.Get(w.name)
		switch {
		case value == "":
		case w.name == "what":
			words = append(words, actionText(value))
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

// pastAddress is the address of a page that has a past, as a template writes it.
const pastAddress = `((?:(?:fleet|workloads|assignments|cluster-types|explain)(?:[/?][^"]*)?|environments/[^"/?]+(?:\?[^"]*)?))`

// hasMoment reports whether an address asks for a moment.
var hasMoment = regexp.MustCompile(`[?;]at=`).MatchString

// keepMoment returns a page about a moment whose links and forms lead to pages about the same moment, where they lead
// to pages that have a past.
func keepMoment(html []byte, root, at string) []byte {
	start := bytes.Index(html, []byte("<main"))
	if at == "" || start < 0 {
		return html
	}
	toPast := regexp.MustCompile(`(href|action|data-explain)="` + regexp.QuoteMeta(root) + pastAddress + `"[^>]*>`)
	kept := toPast.ReplaceAllFunc(html[start:], func(found []byte) []byte {
		match := toPast.FindSubmatch(found)
		address, isForm := string(match[2]), string(match[1]) == "action"
		switch {
		case strings.Contains(string(found), `id="now"`), hasMoment(address), isForm && strings.HasPrefix(address, "explain"): // which has a field for it
			return found
		case isForm:
			return append(bytes.Clone(found), `<input type="hidden" name="at" value="`+template.HTMLEscapeString(at)+`">`...)
		}
		sign := "?"
		if strings.Contains(address, "?") {
			sign = "&amp;"
		}
		before, rest, _ := bytes.Cut(found, []byte(`"`))
		link, rest, _ := bytes.Cut(rest, []byte(`"`))
		return []byte(string(before) + `"` + string(link) + sign + "at=" + url.QueryEscape(at) + `"` + string(rest))
	})
	return append(bytes.Clone(html[:start]), kept...)
}
