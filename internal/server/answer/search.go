package answer

import (
	"net/url"
	"strconv"
	"strings"
)

// maxFound bounds what is found of each kind.
const maxFound = 10

// Found is the answer of /api/v1/search.
type Found struct {
	Text         string        `json:"text"`
	Environments []Environment `json:"environments"`
	Commits      []Commit      `json:"commits"`
	Workloads    []string      `json:"workloads"`
	ClusterTypes []string      `json:"clusterTypes"`
	Clusters     []string      `json:"clusters"`
	Problems     []Problem     `json:"problems"`
}

// Search returns what has a text in its name.
func (s Source) Search(text string) Found {
	found := Found{Text: text, Environments: []Environment{}, Commits: []Commit{}, Workloads: []string{}, ClusterTypes: []string{}, Clusters: []string{}, Problems: []Problem{}}
	if text == "" {
		return found
	}
	for _, e := range s.listEnvironments() {
		if strings.Contains(strings.ToLower(e.Name), strings.ToLower(text)) {
			found.Environments = append(found.Environments, e)
		}
	}
	for _, c := range s.Snapshot.Chain.Commits {
		if (CommitFilter{Text: text}).selects(c) {
			found.Commits = append(found.Commits, *s.describeCommit(c.ID))
		}
	}
	found.Workloads, found.ClusterTypes, found.Clusters = namesWith(s.WorkloadNames(), text), namesWith(s.ClusterTypeNames(), text), namesWith(s.ClusterNames(), text)
	found.Problems = s.Problems(ProblemFilter{Text: text}).Items
	found.Environments, found.Commits, found.Problems = firstOf(found.Environments), firstOf(found.Commits), firstOf(found.Problems)
	return found
}

// FindPull returns the path of the page of the open pull request that a text like #12 means, and whether it is
// the only one of that number.
func (s Source) FindPull(text string) (path string, only bool) {
	number, isPull := strings.CutPrefix(text, "#")
	count := 0
	for _, e := range s.listEnvironments() {
		if isPull && e.Pull != nil && strconv.Itoa(e.Pull.Number) == number {
			_, isOpen := s.Pull(e.Name, e.Pull.Number)
			if isOpen {
				path = "environments/" + url.PathEscape(e.Name) + "/pulls/" + number
				count++
			}
		}
	}
	return path, count == 1
}

// namesWith returns the first names that have a text in them.
func namesWith(all []string, text string) []string {
	found := []string{}
	for _, name := range all {
		if strings.Contains(strings.ToLower(name), strings.ToLower(text)) && len(found) < maxFound {
			found = append(found, name)
		}
	}
	return found
}

func firstOf[T any](all []T) []T { return all[:min(len(all), maxFound)] }
