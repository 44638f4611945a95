package page

import (
	"slices"
	"strings"
)

type pageLink struct{ name, address string }

// pageLinks are the pages that people look for most, and moreLinks the others.
var (
	pageLinks = []pageLink{{"Overview", ""}, {"Commits", "commits"}, {"Fleet", "fleet"}, {"Problems", "problems"}, {"History", "history"}}
	moreLinks = []pageLink{{"Environments", "environments"}, {"Workloads", "workloads"}, {"Cluster types", "cluster-types"}, {"Clusters", "clusters"}, {"Stacks", "stacks"}, {"Explain", "explain"}, {"Differences", "diff"}, {"Health", "health"}}
)

// navLink is a page in the head of another.
type navLink struct {
	Name, Address string
	Here          bool
	Count         int
	Key           string // after g, it leads there
}

var pageKeys = map[string]string{"": "o", "commits": "c", "fleet": "f", "problems": "p", "history": "h", "environments": "e"}

func (f Frame) listLinks(all []pageLink, here string) (links []navLink) {
	for _, l := range all {
		if !f.Questions && (l.address == "explain" || l.address == "diff") || !f.History && l.address == "history" {
			continue
		}
		link := navLink{l.name, l.address, l.address == here, 0, pageKeys[l.address]}
		if l.address == "problems" {
			link.Count = f.Problems
		}
		links = append(links, link)
	}
	return links
}

// nowhere is the address of a page that no page in the head leads to.
const nowhere = "/"

func findHere(path string) string {
	here := strings.SplitN(strings.TrimPrefix(path, "/"), "/", 2)[0]
	here, _, _ = strings.Cut(here, "?")
	return here
}

// Keyed returns the pages that have a key.
func (d framed) Keyed() []navLink {
	return slices.DeleteFunc(slices.Concat(d.Links, d.More), func(l navLink) bool { return l.Key == "" })
}

// ThenLinks returns the pages that show the moment of this one besides it; nil if it is not about one moment.
func (d framed) ThenLinks() []navLink {
	if d.At == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Concat(d.Links, d.More[:1]), func(l navLink) bool { return l.Here || l.Address == "problems" })
}

// IsLive reports whether the page follows the state.
func (d framed) IsLive() bool { return d.Follow && !d.View.Paused }

// IsMore reports whether the page is one that the head names only when asked.
func (d framed) IsMore() bool {
	return slices.ContainsFunc(d.More, func(l navLink) bool { return l.Here })
}

// Answering counts the repositories that answer.
func (f Frame) Answering() int { return f.Repositories - len(f.Silent) }
