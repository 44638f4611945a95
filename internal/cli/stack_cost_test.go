package cli

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// costOfSize returns the estimate of a component that costs 60 EUR for each unit of its size.
func costOfSize(before, after map[string]string) any {
	price := func(variables map[string]string) string {
		n, _ := strconv.Atoi(strings.Trim(variables["size"], `"`))
		return strconv.Itoa(60 * n)
	}
	return map[string]string{"currency": "EUR", "totalMonthlyCost": price(after), "pastTotalMonthlyCost": price(before)}
}

func setSize(n string) map[string]string {
	return map[string]string{"blueprints/shop.yaml": strings.Replace(chainFiles["blueprints/shop.yaml"], `value: "1"`, `value: "`+n+`"`, 1)}
}

const costGates = `apiVersion: fairlead.io/v1alpha1
kind: Promotion
metadata: {name: main}
spec:
  environments:
    - {name: dev, proof: [rollout, {cost: {increase: 100, currency: EUR}}]}
    - {name: stage, after: [dev], gates: [{cost: {increase: 100, currency: EUR}}]}
`

// TestStackChainCost: what costs too much in dev does not get to stage, although it is applied in dev; a smaller change
// of it does, and what it costs more than what was verified is what counts.
func TestStackChainCost(t *testing.T) {
	t.Parallel()
	c := startStackChain(t)
	c.commit("main", "a gate", map[string]string{".fairlead/promotion.yaml": costGates + `    - {name: prod, after: [stage], gates: [{cost: {increase: 100, currency: USD}}]}
`})
	for _, e := range demoEnvironments[:2] {
		c.approve(e)
	}
	c.awaitChain("prod waits, because stage costs another currency", func(_ string, stages map[string]status.Stage) bool {
		return strings.Contains(stages["prod"].Next.Verdict.Reason, "the plan of stage shop/stage/queue costs EUR, and the limit is in USD")
	})
	c.commit("main", "a size that costs too much", setSize("5"))
	c.poll("the stack shows what its plan costs", func() bool {
		var stdout, stderr bytes.Buffer
		args := []string{"stack", "show", "shop/dev", "-e", "dev", "--url", c.server, "--control-plane", c.folder.path("control-plane.git")}
		if code := Main(c.Context(), args, &stdout, &stderr); code != 0 {
			c.Fatalf("%v: %s", args, stderr.String())
		}
		return strings.Count(stdout.String(), "60.00 to 300.00 EUR a month (+240.00)") == 2 // of the component, and of the stack
	})
	for revision, want := range map[string]string{"dev": "240.00", "dev~1": ""} {
		var planned plannedStack
		c.ask(&planned, "stack", "plan", "shop/dev", "dev~1", revision, "--url", c.server, "--control-plane", c.folder.path("control-plane.git"))
		got := ""
		if planned.Planned != nil && planned.Components[0].Planned != nil {
			got = planned.Planned.Costs[0].Difference
		}
		if got != want {
			t.Errorf("the plan of %s costs %q, want %q: %+v", revision, got, want, planned)
		}
	}
	c.approve("dev")
	c.awaitChain("dev costs too much, and stage keeps what it has", func(newest string, stages map[string]status.Stage) bool {
		v := stages["dev"].Proof
		return v.Status == gate.Fail && strings.Contains(v.Reason, "60.00 to 300.00 EUR a month (+240.00)") && stages["stage"].Commit != newest
	})
	c.commit("main", "a smaller size", setSize("2"))
	c.await("dev", "shop/dev/queue waits")
	c.restart()
	c.events["dev"] <- "shop/dev/queue waits"
	c.approve("dev")
	c.restart() // nobody sends again what is applied
	c.awaitChain("dev is verified, and stage gets the commit", func(newest string, stages map[string]status.Stage) bool {
		for _, part := range stages["dev"].Proof.Parts {
			if part.Gate == "cost" && part.Status == gate.Pass && strings.Contains(part.Reason, "60.00 to 120.00 EUR a month (+60.00)") {
				return stages["stage"].Commit == newest
			}
		}
		return false
	})
	c.approve("stage")
	var stdout, stderr bytes.Buffer
	if code := Main(c.Context(), []string{"pr", "show", "stage", "--repo", c.folder.path("gitops.git")}, &stdout, &stderr); code != 0 {
		t.Fatal(stderr.String())
	}
	if !strings.Contains(stdout.String(), "shop/stage: 60.00 to 120.00 EUR a month (+60.00)") {
		t.Errorf("the pull request of the approval does not tell the cost:\n%s", stdout.String())
	}
	c.commit("main", "a text that Terraform does not read", map[string]string{"modules/queue/README.md": "A queue.\n"})
	c.awaitChain("stage gets a commit that changes a root module, and needs no plan", func(newest string, stages map[string]status.Stage) bool {
		dev, stage := stages["dev"], stages["stage"]
		return dev.Commit == newest && dev.Proof.Status == gate.Pass && stage.Commit == newest && stage.Proof.Status == gate.Pass
	})
	c.awaitModule("stage", "A queue.", true)
}

// TestStackChainCostAuto: in dev nobody approves plans. What costs too much is applied there, and does not get to stage; a
// smaller change does, and so does one for which there is nothing to do. The daemon ends often.
func TestStackChainCostAuto(t *testing.T) {
	t.Parallel()
	c := startStacks(t, chainFiles, func(e string) map[string]string {
		return map[string]string{"stacks/shop.yaml": fmt.Sprintf("apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: shop}\nspec: {teamName: shop, envName: %s, autoApprove: %v}\n", e, e == "dev")}
	}, "dev", "stage")
	defer c.restartOften()()
	c.commit("main", "a gate", map[string]string{".fairlead/promotion.yaml": costGates})
	c.approve("stage")
	c.commit("main", "a file that nothing is made from", map[string]string{"README.md": "A fleet.\n"})
	c.awaitChain("stage gets a commit that changes no output", func(newest string, stages map[string]status.Stage) bool {
		return newest != "" && stages["stage"].Commit == newest && stages["stage"].Proof.Status == gate.Pass
	})
	c.commit("main", "a size that costs too much", setSize("5"))
	c.awaitChain("dev costs too much, and stage keeps what it has", func(newest string, stages map[string]status.Stage) bool {
		v := stages["dev"].Proof
		return stages["dev"].Commit == newest && v.Status == gate.Fail && strings.Contains(v.Reason, "60.00 to 300.00 EUR a month (+240.00)") && stages["stage"].Commit != newest
	})
	c.commit("main", "a smaller size", setSize("2"))
	c.approve("stage")
	for name, text := range c.module("stage") {
		if strings.HasSuffix(name, "/module.tf") && !strings.Contains(text, `"2"`) {
			t.Errorf("stage has another size in %s:\n%s", name, text)
		}
	}
	c.commit("main", "a text that Terraform does not read", map[string]string{"modules/queue/README.md": "A queue.\n"})
	c.awaitModule("stage", "A queue.", true)
}
