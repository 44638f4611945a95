package deploytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// What is in the two repositories for Kalypso's workflows: what starts them, and what
// they take.
var kalypsoWorkflows = map[string]string{
	"cd.yaml":            "on:\n  workflow_dispatch:\n    inputs:\n      promoted_commit_id: {type: string}\n      environment: {type: string}\n",
	"check-promote.yaml": "on:\n  workflow_dispatch:\n    inputs:\n      environment: {type: string}\n      promoted_commit_id: {type: string}\n      commit_id: {type: string}\n",
}

// ask asks GitHub's API, as the steps of Kalypso's workflows do.
func (s *site) ask(method, path string, body, into any) {
	s.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.Fatal(err)
	}
	if body == nil {
		text = nil
	}
	request, err := http.NewRequestWithContext(s.Context(), method, s.fake.API()+path, bytes.NewReader(text))
	if err != nil {
		s.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.fake.Token)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		s.Fatalf("%s %s: %s", method, path, answer.Status)
	}
	if into != nil {
		if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
			s.Fatal(err)
		}
	}
}

// cd is Kalypso's cd.yaml: it writes the record of an environment anew, and says so.
func (s *site) cd(environment, promoted string) {
	s.Helper()
	s.people.Pull(environment)
	s.people.Write("base-repo.yaml", fmt.Sprintf("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata:\n  name: main\nspec:\n  repo: %s\n  branch: main\n  path: .\n  commit: %s\n",
		s.fake.Git.URL(plane), promoted))
	s.people.Commit("Promoting Commit_Id to the environment")
	s.people.Push(environment)
	s.fake.Say(plane, "kalypso", promoted, githubfake.Status{Context: environment + " environment", State: "pending", Description: "Promoted"})
}

// checkPromote is Kalypso's check-promote.yaml of the GitOps repository, which runs when
// a branch is pushed to: it looks for a merged pull request with the label that has the
// commit, reads the promoted commit from the tracking file, and starts the workflow of
// the control plane. It gives that commit, "" for none.
func (s *site) checkPromote(branch string) string {
	s.Helper()
	dir := s.fake.Git.Dir(gitops)
	pushed := s.branch(gitops, branch)
	var pulls []struct {
		MergedAt string `json:"merged_at"`
		Labels   []struct{ Name string }
		Head     struct{ SHA string }
	}
	s.ask("GET", "/repos/"+gitops+"/pulls?state=closed&base="+branch, nil, &pulls)
	promoted := ""
	for _, p := range pulls {
		has := slices.Contains(strings.Fields(gittest.Git(s, dir, "rev-list", pushed)), p.Head.SHA)
		merge := strings.Contains(gittest.Git(s, dir, "log", "-1", "--format=%P", pushed), p.Head.SHA)
		labelled := slices.ContainsFunc(p.Labels, func(l struct{ Name string }) bool { return l.Name == "promoted" })
		if p.MergedAt != "" && has && merge && labelled {
			promoted = strings.TrimSpace(gittest.Show(s, dir, pushed, ".github/tracking/Promoted_Commit_Id"))
		}
	}
	s.ask("POST", "/repos/"+plane+"/actions/workflows/check-promote.yaml/dispatches", map[string]any{
		"ref": "main", "inputs": map[string]string{"environment": branch, "promoted_commit_id": promoted, "commit_id": pushed},
	}, nil)
	return promoted
}

// deployed is Kalypso's check-promote.yaml of the control plane, on clusters that do as
// they should; next is the environment that follows, "" for none.
func (s *site) deployed(environment, promoted, next string) {
	s.Helper()
	for _, said := range []githubfake.Status{{State: "pending", Description: "Deploying"}, {State: "success", Description: "Deployed"}} {
		said.Context = environment + " environment"
		s.fake.Say(plane, "kalypso", promoted, said)
	}
	if next != "" {
		s.ask("POST", "/repos/"+plane+"/actions/workflows/cd.yaml/dispatches", map[string]any{
			"ref": "main", "inputs": map[string]string{"promoted_commit_id": promoted, "environment": next},
		}, nil)
		s.cd(next, promoted)
	}
}

// open gives the open pull requests of the GitOps repository to a branch.
func (s *site) open(branch string) (numbers []int) {
	s.Helper()
	var pulls []struct{ Number int }
	s.ask("GET", "/repos/"+gitops+"/pulls?state=open&base="+branch, nil, &pulls)
	for _, p := range pulls {
		numbers = append(numbers, p.Number)
	}
	return numbers
}

// TestKalypso: Kalypso's workflows take a commit from dev to stage, and we render it:
// promotion: external.
func TestKalypso(t *testing.T) {
	s := newSite(t)
	for name, text := range kalypsoWorkflows {
		s.people.Write(".github/workflows/"+name, text)
	}
	s.people.Write("configs/level.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: level, labels: {platform-config: \"true\"}}\ndata: {LEVEL: \"1\"}\n")
	promoted := s.people.Commit("a level")
	s.people.Push("main")
	for i, environment := range []string{"dev", "stage"} {
		if i == 0 {
			s.cd(environment, promoted) // as ci.yaml starts it
		}
		record := s.branch(plane, environment)
		fairlead(t, "serve", "--once", "--config", s.config)
		if now := s.branch(plane, environment); now != record {
			t.Errorf("the branch of %s was moved, though others promote", environment)
		}
		numbers := s.open(environment)
		if len(numbers) != 1 || !slices.Contains(s.fake.Labels(gitops, numbers[0]), "promoted") {
			t.Fatalf("the pull requests to %s are %v", environment, numbers)
		}
		s.fake.Merge(gitops, numbers[0], false)
		if got := s.checkPromote(environment); got != promoted {
			t.Fatalf("check-promote finds %q in %s, want %s", got, environment, promoted)
		}
		next := map[string]string{"dev": "stage"}[environment]
		s.deployed(environment, promoted, next)
		j := s.job(map[string]string{"inputs.environment": environment, "inputs.commit || github.sha": promoted, "inputs.timeout": "0s"})
		if printed, err := j.run("wait"); err != nil {
			t.Errorf("fairlead wait does not believe Kalypso's status: %v: %s", err, printed)
		}
	}
	var said []string
	for _, one := range s.fake.Statuses(plane, promoted) {
		if strings.HasSuffix(one.Context, " environment") {
			said = append(said, one.Context+": "+one.Description)
		}
	}
	want := []string{"dev environment: Promoted", "dev environment: Deploying", "dev environment: Deployed", "stage environment: Promoted", "stage environment: Deploying", "stage environment: Deployed"}
	if !slices.Equal(said, want) {
		t.Errorf("the statuses of Kalypso's are %q", said)
	}
	// A change that is none of a promotion has no label: Kalypso promotes nothing.
	s.people.Pull("dev")
	s.people.Write("configs/own.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own, labels: {platform-config: \"true\"}}\ndata: {OWN: \"1\"}\n")
	s.people.Commit("a config of dev")
	s.people.Push("dev")
	fairlead(t, "serve", "--once", "--config", s.config)
	numbers := s.open("dev")
	if len(numbers) != 1 || slices.Contains(s.fake.Labels(gitops, numbers[0]), "promoted") {
		t.Fatalf("the pull requests to dev are %v", numbers)
	}
	s.fake.Merge(gitops, numbers[0], false)
	if got := s.checkPromote("dev"); got != "" {
		t.Errorf("check-promote would promote %s", got)
	}
	if more := s.open("stage"); len(more) > 0 {
		t.Errorf("there are pull requests to stage: %v", more)
	}
}
