package page

import (
	"net/url"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// Listed is the page of a list whose row names its template and its title.
type Listed struct {
	answer.Tabled
	// Template is the name of the file, and the path of the page.
	Template string
	Query    url.Values
	// Environments are the names of all, to choose from.
	Environments []string
}

// title returns the title of the page: its name, and what was asked for.
func (l Listed) title() string {
	return strings.ToUpper(l.Template[:1]) + strings.ReplaceAll(l.Template[1:], "-", " ") + describeQuery(l.Query, l.Template)
}

// Asked returns a parameter of the address.
func (l Listed) Asked(name string) string { return l.Query.Get(name) }

// IsFiltered reports whether the address asks for a part of the list.
func (l Listed) IsFiltered() bool {
	for name, values := range l.Query {
		if name != "page" && name != "at" && values[0] != "" {
			return true
		}
	}
	return false
}

func (l Listed) asked() url.Values {
	asked := url.Values{}
	for name, values := range l.Query {
		if name != "page" {
			asked[name] = values[:1]
		}
	}
	return asked
}

// Pager returns the way to other pages of the list.
func (l Listed) Pager() pager {
	total, page := l.Count()
	asked := l.asked()
	asked.Del("at")
	return newListPager(l.Template, page, total, asked)
}

// With returns the address of the list with more parameters: names, each followed by its value.
func (l Listed) With(pairs ...string) string {
	asked := l.asked()
	for pair := range slices.Chunk(pairs, 2) {
		asked.Set(pair[0], pair[1])
	}
	return l.Template + "?" + asked.Encode()
}

// Blocks returns a picture of clusters by their states: one block for each, or for several where there are many.
func (l Listed) Blocks(of answer.EnvironmentClusters) blocks { return newBlocks(of.States) }
