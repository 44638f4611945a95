package answer

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
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
	Stacks       []StackPart   `json:"stacks"`
	// Targets are deployment targets, and Objects those of the control plane, by kind and name or by file.
	Targets []FoundTarget `json:"targets"`
	Objects []FoundObject `json:"objects"`
	// Assignments are those that the text names, as "cluster type/target", in each environment that has both.
	Assignments []FoundAssignment `json:"assignments"`
	Problems    []Problem         `json:"problems"`
	// Pulls are the pull requests, open or not, of the number that the text is.
	Pulls []FoundPull `json:"pulls"`
}

// FoundPull is a pull request of the output of an environment.
type FoundPull struct {
	Environment string `json:"environment"`
	Number      int    `json:"number"`
}

// FoundAssignment is an assignment that there is, or could be.
type FoundAssignment struct {
	Environment string `json:"environment"`
	ClusterType string `json:"clusterType"`
	Target      string `json:"target"`
}

// FoundTarget is a deployment target, and its workload.
type FoundTarget struct {
	Name     string `json:"name"`
	Workload string `json:"workload"`
}

// FoundObject is an object of the control plane, as the first environment that reads it from its place does.
type FoundObject struct {
	Environment string `json:"environment"`
	Subject     string `json:"subject"` // "Kind/name"
	Place       string `json:"place"`
}

// Search returns what has a text in its name.
func (s Source) Search(text string) Found {
	found := Found{Text: text, Environments: []Environment{}, Commits: []Commit{}, Workloads: []string{}, ClusterTypes: []string{}, Clusters: []string{}, Stacks: []StackPart{}, Targets: []FoundTarget{}, Objects: []FoundObject{}, Assignments: []FoundAssignment{}, Problems: []Problem{}, Pulls: []FoundPull{}}
	if text == "" {
		return found
	}
	for _, e := range s.listEnvironments() {
		if hasWords(e.Name, text) {
			found.Environments = append(found.Environments, e)
		}
	}
	for _, c := range s.Snapshot.Chain.Commits {
		if (CommitFilter{Text: text}).selects(c) {
			found.Commits = append(found.Commits, *s.describeCommit(c.ID))
		}
	}
	for _, stage := range s.Snapshot.Chain.Stages {
		for _, c := range stage.Edits {
			if (CommitFilter{Text: text}).selects(c) {
				found.Commits = append(found.Commits, describeEdit(s, stage.Environment, c))
			}
		}
	}
	found.Workloads, found.ClusterTypes, found.Clusters = namesWith(s.WorkloadNames(), text), namesWith(s.ClusterTypeNames(), text), namesWith(s.ClusterNames(), text)
	found.Targets, found.Objects = s.findTargets(text), s.findObjects(text)
	found.Assignments = append(found.Assignments, s.findAssignments(text)...)
	found.Stacks = firstOf(s.Stacks(StackFilter{Text: text}).Items)
	found.Problems = s.Problems(ProblemFilter{Text: text}).Items
	found.Environments, found.Commits, found.Problems = firstOf(found.Environments), firstOf(found.Commits), firstOf(found.Problems)
	return found
}

// findTargets returns the first deployment targets that have a text in their kind and name, or in the path of their file.
func (s Source) findTargets(text string) []FoundTarget {
	workloads := map[string]string{}
	s.visitTargets(func(_ string, t *model.Target) {
		if hasWords(t.Subject(), text) || hasWords(t.Pos.String(), text) {
			workloads[t.Name] = t.Workload
		}
	})
	found := []FoundTarget{}
	for _, name := range slices.Sorted(maps.Keys(workloads)) {
		found = append(found, FoundTarget{name, workloads[name]})
	}
	return firstOf(found)
}

func (s Source) findAssignments(text string) (found []FoundAssignment) {
	clusterType, target, named := strings.Cut(text, "/")
	if !named {
		return nil
	}
	for _, environment := range s.Names() {
		if _, _, known := s.findAssignment(environment, clusterType, target); known && len(found) < maxFound {
			found = append(found, FoundAssignment{environment, clusterType, target})
		}
	}
	return found
}

// findObjects returns the first policies, configs, schemas and templates that have a text in their kind and
// name, or in the path of their file.
func (s Source) findObjects(text string) []FoundObject {
	found := []FoundObject{}
	seen := map[string]bool{}
	for _, environment := range s.Names() {
		plan := s.Snapshot.Plans[environment]
		if plan == nil {
			continue
		}
		for _, o := range writtenObjects(plan.Model()) {
			subject, place := o.Subject(), o.Pos.String()
			if len(found) == maxFound {
				return found
			}
			if seen[subject+" "+place] || len(namesWith([]string{subject, place}, text)) == 0 {
				continue
			}
			seen[subject+" "+place] = true
			found = append(found, FoundObject{environment, subject, place})
		}
	}
	return found
}

func writtenObjects(m *model.Model) []*model.Object {
	return slices.Concat(metaOf(m.Policies), metaOf(m.Configs), metaOf(m.Schemas), metaOf(m.Templates))
}

func metaOf[T interface{ ObjectMeta() *model.Object }](of []T) []*model.Object {
	return list.Convert(of, T.ObjectMeta)
}

// FindPulls returns the pull requests of the number that a text like #12 means: those that are open, and those that
// something was done to.
func (s Source) FindPulls(text string, done []history.Entry) []FoundPull {
	found := []FoundPull{}
	number, err := strconv.Atoi(strings.TrimPrefix(text, "#"))
	if err != nil || number <= 0 {
		return found
	}
	for _, name := range s.Names() {
		_, isOpen := s.Pull(name, number)
		if isOpen || slices.ContainsFunc(done, func(e history.Entry) bool { return e.Environment == name && e.Pull == number }) {
			found = append(found, FoundPull{name, number})
		}
	}
	return firstOf(found)
}

func hasWords(text, query string) bool {
	text = strings.ToLower(text)
	for word := range strings.FieldsSeq(strings.ToLower(query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

func namesWith(all []string, text string) []string {
	found := []string{}
	for _, name := range all {
		if hasWords(name, text) && len(found) < maxFound {
			found = append(found, name)
		}
	}
	return found
}

func firstOf[T any](all []T) []T { return all[:min(len(all), maxFound)] }
