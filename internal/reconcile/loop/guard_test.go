package loop_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gitlabfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// guarded is a fleet whose proposals are merged without a person, on one of the forges.
type guarded struct {
	*world
	*daemon
	out     string           // the GitOps repository
	byHand  func(number int) // merges a pull request as a person does
	pending bool             // nothing is merged before its check has succeeded
}

var guardedEnvironments = []string{"dev", "stage", "prod"}

// newGuarded makes dev, stage and prod, in that order of promotion.
func newGuarded(t *testing.T, forgeKind, merge string) *guarded {
	t.Helper()
	t.Parallel()
	g := &guarded{out: githubOut, pending: merge == "when-green"}
	on := func(server *gittest.Server, kind, token string) {
		t.Helper()
		g.world = worldOn(t, server, githubCP, githubOut, scaffold.Branches, guardedEnvironments)
		g.world.kind, g.world.secret = kind, map[string]string{"TOKEN": token}
		g.world.more = "write: true\nremotes: [{url: \"" + strings.TrimSuffix(server.URL(""), "/.git") + "/\", token: {env: TOKEN}}]\n"
	}
	switch forgeKind {
	case "git":
		server := gittest.Serve(t)
		server.Create(githubCP)
		server.Create(githubOut)
		on(server, "", "")
		g.world.more = "write: true\n"
		g.byHand = func(number int) {
			f := g.plain(githubOut)
			all, err := f.AllPulls()
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(all, func(p forge.Pull) bool { return p.Number == number })
			if err := f.MergePull(t.Context(), number, all[i].Commit); err != nil {
				t.Fatal(err)
			}
		}
	case "github":
		fake := githubfake.Serve(t)
		fake.Create(githubCP)
		fake.Create(githubOut)
		on(fake.Git, "kind: github, api: \""+fake.API()+"\"", fake.Token)
		g.world.now = githubStart
		if g.pending {
			fake.Set(githubOut, githubfake.Settings{Required: []string{"ci"}})
		}
		g.byHand = func(number int) { fake.Merge(githubOut, number, false) }
	case "gitlab":
		fake := gitlabfake.Serve(t)
		fake.Create(githubCP)
		fake.Create(githubOut)
		on(fake.Git, "kind: gitlab, api: \""+fake.API()+"\"", fake.Token)
		g.world.now = githubStart
		if g.pending {
			fake.RequirePipeline(githubOut)
		}
		g.byHand = func(number int) { fake.Merge(githubOut, number, gitlabfake.Merging{}) }
	}
	chain := ""
	for i, name := range guardedEnvironments {
		after := strings.Join(guardedEnvironments[max(0, i-1):i], "")
		chain += fmt.Sprintf("    - {name: %s, after: [%s], merge: %s, proof: []}\n", name, after, merge)
	}
	g.commitNow("main", "chain", map[string]string{promotionFile: chainOf(chain)})
	g.daemon = g.world.begin(g.data)
	return g
}

// forgeOf returns the forge of a repository, as the daemon has it.
func (g *guarded) forgeOf(repo string) (found forge.Forge) {
	g.world.Helper()
	if err := g.Wrap(g.server.URL(repo), func(f forge.Forge) forge.Forge { found = f; return f }); err != nil {
		g.world.Fatal(err)
	}
	return found
}

// pull returns the newest pull request of an environment.
func (g *guarded) pull(environment string) forge.Pull {
	g.world.Helper()
	all, err := g.forgeOf(g.out).Pulls(g.Context(), "fairlead/"+environment, environment)
	if err != nil || len(all) == 0 {
		g.world.Fatalf("the pull requests of %s are %v, %v; the log:\n%s", environment, all, err, g.logs.String())
	}
	return all[0]
}

// check has the required check of an open pull request begin, or succeed.
func (g *guarded) check(environment string, outcome forge.Outcome) {
	g.world.Helper()
	if p := g.pull(environment); g.pending && p.State == forge.Open {
		if err := g.forgeOf(g.out).SetStatus(g.Context(), p.Commit, forge.Status{Context: "ci", Outcome: outcome}); err != nil {
			g.world.Fatal(err)
		}
	}
}

// arrives runs cycles, with checks that succeed, until the environments are in sync.
func (g *guarded) arrives(environments ...string) {
	g.world.Helper()
	for range 20 {
		g.pass(time.Minute)
		if !slices.ContainsFunc(environments, func(name string) bool { return g.state(name).State != status.InSync }) {
			return
		}
		for _, name := range environments {
			if g.state(name).State == status.Proposed {
				g.check(name, forge.Pending)
				g.pass(10 * time.Minute)
				g.check(name, forge.Success)
			}
		}
	}
	for _, name := range environments {
		g.world.Errorf("%s is %s: %s", name, g.state(name).State, g.state(name).Reason)
	}
	g.world.Fatalf("the log:\n%s", g.logs.String())
}

// policy is the file that puts the workload of the sample on its cluster types.
const policy = "scheduling-policies/hello.yaml"

// replace changes a file of an environment's branch.
func (g *guarded) replace(environment, file, old, new string) {
	g.world.Helper()
	text := gittest.Show(g.world, g.server.Dir(githubCP), environment, file)
	changed := strings.Replace(text, old, new, 1)
	if changed == text {
		g.world.Fatalf("%s of %s does not have %q:\n%s", file, environment, old, text)
	}
	g.commitNow(environment, "edit "+file, map[string]string{file: changed})
}

// note changes what all assignments of an environment are told.
func (g *guarded) note(environment, text string) {
	g.world.Helper()
	g.commitNow(environment, "note", map[string]string{
		"configs/note.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note, labels: {platform-config: \"true\"}}\ndata: {NOTE: " + text + "}\n",
	})
}

// wantWithheld checks that an environment's removal waits for a person, says so wherever
// people look, and still waits whatever happens that is not their word. It returns the name of
// the change.
func (g *guarded) wantWithheld(environment string) string {
	g.world.Helper()
	lives := []string{""}
	if environment == "dev" { // the daemon is the same for all of them
		lives = append(lives, "restarted", "restarted without its data")
	}
	for _, life := range lives {
		if life != "" {
			g.Close()
			if life != "restarted" {
				g.data = g.TempDir()
			}
			g.daemon = g.world.begin(g.data)
		}
		for range 2 {
			g.pass(20 * time.Minute)
			g.check(environment, forge.Pending)
			g.check(environment, forge.Success)
		}
		if e := g.state(environment); e.State != status.Proposed || len(e.Withheld) != 1 || e.Withheld[0].Cause != "removals" {
			g.world.Fatalf("%s %s is %s, withheld %+v: %s\nthe log:\n%s", environment, life, e.State, e.Withheld, e.Reason, g.logs.String())
		}
	}
	e, p := g.state(environment), g.pull(environment)
	change := e.Withheld[0].Acknowledge
	const says = "REMOVE hello-web from cloud and edge"
	command := "fairlead approve " + environment + " " + change + " --removals"
	if p.State != forge.Open || !strings.HasPrefix(p.Title, environment+": "+says) || !strings.HasPrefix(p.Body, "- **What:** REMOVE `hello-web` from `cloud` and `edge`") || !strings.Contains(p.Body, "`"+command+"`") {
		g.world.Errorf("the pull request is %s, %q:\n%s", p.State, p.Title, p.Body)
	}
	if !slices.Contains(p.Labels, "removals") {
		g.world.Errorf("its labels are %q", p.Labels)
	}
	if !strings.Contains(e.Reason, "the last assignment of workload hello") || !strings.Contains(e.Reason, command) {
		g.world.Errorf("%s says %q", environment, e.Reason)
	}
	proof := g.stage(environment)
	if !proof.Merged || proof.Proof.Status != "wait" || !strings.Contains(fmt.Sprint(proof.Proof.Parts), "waits for a person: it removes hello-web") || len(proof.Withheld) != 1 {
		g.world.Errorf("the proof in %s is %+v", environment, proof)
	}
	g.wantFailing(environment)
	if _, ok := gittest.Files(g.world, g.server.Dir(g.out), environment)["cloud/hello-web/namespace.yaml"]; !ok {
		g.world.Errorf("it is gone from %s", environment)
	}
	return change
}

// wantFailing checks that the status of the environment's commit fails with the reason.
func (g *guarded) wantFailing(environment string) {
	g.world.Helper()
	witness := g.forgeOf(githubCP).(forge.StatusReader)
	said, err := witness.Statuses(g.Context(), g.head(githubCP, environment))
	if err != nil {
		g.world.Fatal(err)
	}
	i := slices.IndexFunc(said, func(s forge.CommitStatus) bool { return s.Context == "fairlead/"+environment })
	if i < 0 || said[i].Outcome != forge.Failure || !strings.Contains(said[i].Description, "it removes hello-web from cloud and edge") {
		g.world.Errorf("of the commit of %s is said %+v", environment, said)
	}
}

// acknowledge commits an Approval of a change, as fairlead approve --removals does.
func (g *guarded) acknowledge(environment, change string) {
	g.world.Helper()
	g.commitNow(environment, "approve", map[string]string{".fairlead/approvals/removals.yaml": own("Approval", "removals", "{removals: \""+change+"\"}")})
}

// TestTypoInPolicy: a letter that is wrong in a policy's label removes all of an
// environment. Nothing merges that, whatever the environment's merge setting is, until a
// person says so of exactly this change.
func TestTypoInPolicy(t *testing.T) {
	for _, test := range []struct{ forge, merge string }{
		{"git", "direct"}, {"github", "direct"}, {"github", "when-green"}, {"gitlab", "direct"}, {"gitlab", "when-green"},
	} {
		t.Run(test.forge+" "+test.merge, func(t *testing.T) {
			g := newGuarded(t, test.forge, test.merge)
			g.changeNow(1)
			g.arrives(guardedEnvironments...)
			changes := map[string]string{}
			for _, name := range guardedEnvironments {
				if g.pending { // so that the forge is to merge what comes next
					g.note(name, "first")
					g.pass(10 * time.Minute)
					g.check(name, forge.Pending)
					g.pass(10 * time.Minute)
					if reason := g.state(name).Reason; !strings.Contains(reason, "the forge merges it") {
						t.Fatalf("auto-merge of %s is not set: %s", name, reason)
					}
				}
				g.replace(name, policy, "app: hello", "app: helo")
				changes[name] = g.wantWithheld(name)
			}

			g.acknowledge("dev", changes["dev"])
			g.arrives("dev")
			for _, name := range []string{"stage", "prod"} {
				g.wantWithheld(name)
			}

			g.byHand(g.pull("stage").Number)
			g.pass(10 * time.Minute)
			g.arrives("stage")

			// What was acknowledged is not what is proposed by then.
			g.acknowledge("prod", changes["prod"])
			g.commitNow("prod", "a cluster type without workloads", map[string]string{"cluster-types/core.yaml": strings.ReplaceAll(
				gittest.Show(t, g.server.Dir(githubCP), "prod", "cluster-types/edge.yaml"), "edge", "core")})
			if again := g.wantWithheld("prod"); again == changes["prod"] {
				t.Errorf("the change is still called %s", again)
			}

			// What was removed may come back, and is not acknowledged for good.
			g.replace("dev", policy, "app: helo", "app: hello")
			g.arrives("dev")
			g.replace("dev", policy, "app: hello", "app: helo")
			g.wantWithheld("dev")

			g.replace("prod", policy, "app: helo", "app: hello")
			g.note("prod", "second")
			g.arrives("prod")
		})
	}
}

// TestTypoInPolicyPreview: the pull request that brings the typo fails, with the place of
// the policy and what was meant.
func TestTypoInPolicyPreview(t *testing.T) {
	t.Parallel()
	fake := githubfake.Serve(t)
	fake.Create(githubCP)
	fake.Create(githubOut)
	w := worldOn(t, fake.Git, githubCP, githubOut, scaffold.Branches, []string{"dev"})
	w.kind = "kind: github, api: \"" + fake.API() + "\""
	w.secret = map[string]string{"TOKEN": fake.Token}
	w.more += "remotes: [{url: \"" + strings.TrimSuffix(fake.Git.URL(""), "/.git") + "/\", token: {env: TOKEN}}]\n"
	d := w.begin(w.data)
	d.cycle()
	w.people.Pull("dev")
	gittest.Git(t, w.people.Dir, "checkout", "-qB", "change")
	w.people.Write(policy, strings.Replace(gittest.Show(t, w.people.Dir, "HEAD", policy), "app: hello", "app: helo", 1))
	commit := w.people.Commit("a typo")
	w.people.Push("+HEAD:change")
	number := fake.Propose(githubCP, githubfake.Proposed{Head: "change", Base: "dev", Title: "mine"})
	gittest.Git(t, fake.Git.Dir(githubCP), "update-ref", fmt.Sprintf("refs/pull/%d/head", number), commit)
	d.cycle()
	said := fake.Statuses(githubCP, commit)
	if len(said) != 1 || said[0].State != "failure" || said[0].Description != "1 problem would come with it" {
		t.Errorf("the statuses are %+v; the log:\n%s", said, w.logs.String())
	}
	text := strings.Join(fake.Comments(githubCP, number), "\n")
	for _, want := range []string{"the policy selects no deployment target, and it selected some before this change", "did you mean"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}
