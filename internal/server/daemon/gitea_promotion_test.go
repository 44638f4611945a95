package daemon_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forge/gitea"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/giteatest"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// giteaChain is three environments, of which the second asks for a review of its record.
const giteaChain = `apiVersion: fairlead.io/v1alpha1
kind: Promotion
metadata: {name: fleet}
spec:
  environments:
    - {name: dev}
    - {name: stage, after: [dev], merge: direct, record: pull-request, gates: [approval: {by: ["team:acme/sre"]}]}
    - {name: prod, after: [stage]}
`

// awaitAll waits for a cycle after which something is so. last is what the test has seen
// last: it may be so already.
func (f *flow) awaitAll(what string, last *status.Snapshot, is func(status.Snapshot) bool) {
	f.Helper()
	for !is(*last) {
		select {
		case *last = <-f.cycles:
		case <-f.Context().Done():
			f.Fatalf("%s: the test ended", what)
		case <-time.After(5 * time.Minute):
			f.Fatalf("%s: nothing came of it; the stages are %s", what, stagesOf(*last))
		}
	}
}

func stagesOf(s status.Snapshot) string {
	var all []string
	for _, one := range s.Chain.Stages {
		all = append(all, fmt.Sprintf("%s at %s, %s: %s", one.Environment, text.ShortCommit(one.Commit), one.Proof.Reason, one.Next.Verdict.Reason))
	}
	return strings.Join(all, "\n")
}

// has reports whether an environment has a commit.
func has(environment, commit string) func(status.Snapshot) bool {
	return func(s status.Snapshot) bool {
		stage, ok := s.Chain.FindStage(environment)
		return ok && stage.Commit == commit
	}
}

// proposes reports whether the output of an environment is proposed from a commit.
func proposes(environment, commit string) func(status.Snapshot) bool {
	return func(s status.Snapshot) bool {
		e, _ := s.FindEnvironment(environment)
		for _, in := range e.Inputs {
			if in.Layer == "base" && in.Commit == commit && e.State == status.Proposed && e.Pull != nil {
				return true
			}
		}
		return false
	}
}

// merged reports whether an environment's commit is merged.
func merged(environment string) func(status.Snapshot) bool {
	return func(s status.Snapshot) bool {
		stage, ok := s.Chain.FindStage(environment)
		return ok && stage.Merged
	}
}

// proven reports whether an environment's commit is proven.
func proven(environment string) func(status.Snapshot) bool {
	return func(s status.Snapshot) bool {
		stage, ok := s.Chain.FindStage(environment)
		return ok && stage.Proof.Status == "pass"
	}
}

// client gives the forge of a repository, as another one sees it.
func (f *flow) client(repo string) *gitea.Forge {
	f.Helper()
	made, err := gitea.New(forge.Options{
		API: f.server.URL, Repo: repo, Token: func(context.Context) (string, error) { return f.server.Token, nil }, Now: time.Now,
	})
	must(f.T, err)
	return made
}

// TestGiteaPromotion takes a commit from dev to prod on a real Gitea: merges, statuses
// as Flux sets them, a review of the record, and a daemon that is replaced meanwhile.
func TestGiteaPromotion(t *testing.T) {
	f := newFlow(t, map[string]string{".fairlead/promotion.yaml": giteaChain}, "dev", "stage", "prod")
	f.server.Team("acme", "sre", "alice")
	f.server.UserToken("flux")
	stop := f.serve("managed")
	first := f.server.Commit(f.cp, "main", "configs/level.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: level, labels: {platform-config: \"true\"}}\ndata: {LEVEL: \"1\"}\n")
	var last status.Snapshot
	merge := func(environment string) {
		t.Helper()
		f.awaitAll(environment+" is proposed", &last, proposes(environment, first))
		e, _ := last.FindEnvironment(environment)
		f.server.Settle(f.out)
		f.server.Merge(f.out, e.Pull.Number)
		f.awaitAll(environment+" is merged", &last, merged(environment))
	}
	ready := func(environment string) {
		t.Helper()
		head, _, _ := strings.Cut(gittest.Git(t, t.TempDir(), "ls-remote", f.server.Remote(f.out), "refs/heads/"+environment), "\t")
		f.server.SayStatus(f.out, "flux", head, giteatest.Status{Context: "kustomization/" + environment + "/1111", State: "success", Description: "ready"})
		f.awaitAll(environment+" is ready", &last, proven(environment))
	}
	f.awaitAll("dev gets the commit", &last, has("dev", first))
	merge("dev")
	ready("dev")
	f.awaitAll("stage waits for a review", &last, func(s status.Snapshot) bool {
		stage, _ := s.Chain.FindStage("stage")
		return strings.Contains(stage.Next.Verdict.Reason, "1 approval missing")
	})

	stop() // and another one begins, with nothing
	f.serve("managed")
	record := 0
	f.server.Until(func() bool {
		pulls, err := f.client(f.cp).Pulls(t.Context(), "fairlead/promotion/stage", "stage")
		must(t, err)
		for _, p := range pulls {
			if p.State == forge.Open {
				record = p.Number
			}
		}
		return record != 0
	})
	f.server.Settle(f.cp)
	f.server.Review(f.cp, "alice", record, "APPROVED", true)
	f.awaitAll("stage gets the commit", &last, has("stage", first))
	f.awaitAll("stage is merged", &last, merged("stage"))
	ready("stage")
	f.awaitAll("prod gets the commit", &last, has("prod", first))
	merge("prod")
	ready("prod")

	said := map[string]string{}
	for _, s := range f.server.Statuses(f.cp, first) {
		said[s.Context] = s.State + " " + s.Description
	}
	for _, environment := range []string{"dev", "stage", "prod"} {
		if got := said[environment+" environment"]; got != "success Deployed" {
			t.Errorf("of %s is said %q", environment, got)
		}
	}
}
