package page

import (
	"net/url"
	"strconv"

	"github.com/fairlead-io/fairlead/internal/server/answer"
)

func (c Commits) asked() url.Values {
	asked := url.Values{"q": {c.Filter.Text}, "author": {c.Filter.Author}, "env": {c.Filter.Environment}, "path": {c.Filter.Path}, "cpage": {""}}
	if page := c.columnPage(); page > 1 {
		asked.Set("cpage", strconv.Itoa(page))
	}
	return asked
}

// Pager returns the way to other commits.
func (c Commits) Pager() pager { return newListPager("commits", c.Page, c.Found, c.asked()) }

func (c Commits) columnPage() int {
	return max(1, min(c.ColumnPage, (len(c.Environments)+answer.FleetColumns-1)/answer.FleetColumns))
}

// columns returns which environments have a column: those from the first one up to the second.
func (c Commits) columns() (from, to int) {
	from = (c.columnPage() - 1) * answer.FleetColumns
	return from, min(len(c.Environments), from+answer.FleetColumns)
}

// Heads returns the environments that have a column.
func (c Commits) Heads() []answer.Environment {
	from, to := c.columns()
	return c.Environments[from:to]
}

// Places returns what a commit is to the environments that have a column.
func (c Commits) Places(of answer.CommitPlaces) []string {
	from, to := c.columns()
	return of.Marks[from:to]
}

// ColumnPager returns the way to other environments.
func (c Commits) ColumnPager() pager {
	return newPager(c.columnPage(), answer.FleetColumns, len(c.Environments), "environments", func(page int) string {
		query := c.asked()
		query.Set("cpage", strconv.Itoa(page))
		query.Set("page", strconv.Itoa(c.Page))
		for _, name := range []string{"q", "author", "env", "path"} {
			if query.Get(name) == "" {
				query.Del(name)
			}
		}
		return "commits?" + query.Encode()
	})
}
