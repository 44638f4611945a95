package loop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestRemovalIsNotPromoted: a commit of the base that removes everything waits in the
// first environment, and gets no further; a newer one that mends it does.
func TestRemovalIsNotPromoted(t *testing.T) {
	g := newGuarded(t, "git", "direct")
	names := map[string]string{g.changeNow(1): "1"}
	g.arrives(guardedEnvironments...)
	g.wantLine(names, "dev=1 stage=1 prod=1")
	label := func(old, new string) string {
		text := gittest.Show(t, g.server.Dir(githubCP), "main", "workloads/hello.yaml")
		return g.commitNow("main", "label", map[string]string{"workloads/hello.yaml": strings.Replace(text, old, new, 1)})
	}
	names[label("app: hello", "app: helo")] = "2"
	g.settle(guardedEnvironments...)
	g.wantLine(names, "dev=2 stage=1 prod=1")
	if e := g.state("dev"); len(e.Withheld) != 1 || e.State != status.Proposed {
		t.Errorf("dev is %s: %s", e.State, e.Reason)
	}
	names[label("app: helo", "app: hello # again")] = "3"
	g.settle(guardedEnvironments...)
	g.wantLine(names, "dev=3 stage=3 prod=3")

	names[label("app: hello", "app: helo")] = "4"
	g.settle(guardedEnvironments...)
	g.wantLine(names, "dev=4 stage=3 prod=3")
	g.acknowledge("dev", g.state("dev").Withheld[0].Acknowledge)
	g.settle(guardedEnvironments...)
	g.wantLine(names, "dev=4 stage=4 prod=3") // stage has it, and waits for a person of its own
	if e := g.state("stage"); len(e.Withheld) != 1 || e.State != status.Proposed {
		t.Errorf("stage is %s: %s", e.State, e.Reason)
	}
}

// TestLimitsOfPromotion: limits are those that the newest commit of the base says, also
// where nothing else has changed since a proposal was withheld; others who promote are no
// reason to merge a removal.
func TestLimitsOfPromotion(t *testing.T) {
	g := newGuarded(t, "git", "direct")
	g.changeNow(1)
	g.arrives(guardedEnvironments...)
	g.replace("dev", policy, "app: hello", "app: helo")
	g.pass(time.Hour)
	change := g.state("dev").Withheld
	if len(change) != 1 {
		t.Fatalf("it is not withheld: %s", g.state("dev").Reason)
	}

	// In an annotation it is acknowledged too, once it names the change.
	repo := func(annotation string) {
		for file, text := range gittest.Files(t, g.server.Dir(githubCP), "prod") {
			if before, after, ok := strings.Cut(text, "kind: GitOpsRepo\nmetadata:\n"); ok {
				annotations := "  annotations: {fairlead.io/removals: \"" + annotation + "\"}\n"
				g.commitNow("prod", "annotate", map[string]string{file: before + "kind: GitOpsRepo\nmetadata:\n" + annotations + after})
				return
			}
		}
		t.Fatal("prod has no GitOpsRepo")
	}
	g.replace("prod", policy, "app: hello", "app: helo")
	g.pass(time.Hour)
	repo(change[0].Acknowledge) // that is of dev
	g.pass(time.Hour)
	prod := g.state("prod").Withheld
	if len(prod) != 1 || prod[0].Acknowledge == change[0].Acknowledge {
		t.Fatalf("prod is withheld for %+v", prod)
	}
	text := gittest.Files(t, g.server.Dir(githubCP), "prod")
	for file, content := range text {
		if strings.Contains(content, change[0].Acknowledge) {
			g.commitNow("prod", "annotate", map[string]string{file: strings.Replace(content, change[0].Acknowledge, "0000, "+prod[0].Acknowledge, 1)})
		}
	}
	g.arrives("prod")

	chain := gittest.Show(t, g.server.Dir(githubCP), "main", promotionFile)
	g.commitNow("main", "no limits in dev", map[string]string{promotionFile: strings.Replace(chain, "{name: dev,", "{name: dev, limits: {removals: 100%, last: allow},", 1)})
	g.arrives("dev")

	g.commitNow("main", "others promote", map[string]string{promotionFile: own("Promotion", "fleet", "{external: true}")})
	g.world.more += "merge: {stage: direct}\n"
	g.Close()
	g.daemon = g.world.begin(g.data)
	g.replace("stage", policy, "app: hello", "app: helo")
	for range 3 {
		g.pass(time.Hour)
	}
	if e := g.state("stage"); e.State != status.Proposed || len(e.Withheld) != 1 {
		t.Errorf("stage is %s: %s", e.State, e.Reason)
	}
}
