package cli

import (
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// lanePromotion has each blueprint be a lane, with a limit of costs; "" for none.
func lanePromotion(limit string) map[string]string {
	gates, proof := "", ""
	if limit != "" {
		gates = ", gates: [{cost: {increase: " + limit + ", currency: EUR}}]"
		proof = ", proof: [rollout, {cost: {increase: " + limit + ", currency: EUR}}]"
	}
	return map[string]string{".fairlead/promotion.yaml": "apiVersion: fairlead.io/v1alpha1\nkind: Promotion\nmetadata: {name: main}\nspec:\n  lanes: {each: blueprints/*}\n  environments:\n" +
		"    - {name: dev" + proof + "}\n    - {name: stage, after: [dev]" + gates + "}\n    - {name: prod, after: [stage]" + gates + "}\n"}
}

// laneBlueprint returns a blueprint whose plans a person approves, but for those of the size 1.
func laneBlueprint(team, size string) string {
	text := strings.ReplaceAll(strings.ReplaceAll(chainFiles["blueprints/shop.yaml"], "{name: shop}", "{name: "+team+"}"), "./modules/queue", "./modules/"+team)
	text = strings.Replace(text, "spec:\n", "spec:\n  autoApprove: "+strconv.FormatBool(size == "1")+"\n", 1)
	return strings.Replace(text, `value: "1"`, `value: "`+size+`"`, 1)
}

// TestStackLanes: while a plan of one team waits, in dev and later in stage, the changes of another team are applied
// there, and go on.
func TestStackLanes(t *testing.T) {
	t.Parallel()
	base := lanePromotion("")
	for _, team := range []string{"hello", "shop"} {
		base["modules/"+team+"/main.tf"], base["blueprints/"+team+".yaml"] = chainFiles["modules/queue/main.tf"], laneBlueprint(team, "1")
	}
	c := startStacks(t, base, func(e string) map[string]string {
		files := map[string]string{}
		for _, team := range []string{"hello", "shop"} {
			files["stacks/"+team+".yaml"] = "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: " + team + "}\nspec: {teamName: " + team + ", envName: " + e + "}\n"
		}
		return files
	}, demoEnvironments...)
	isVerified := func(newest string, stages map[string]status.Stage) bool {
		for _, e := range demoEnvironments {
			if s := stages[e]; s.Commit != newest || !s.Merged || s.Proof.Status != gate.Pass {
				return false
			}
		}
		return true
	}
	c.awaitChain("all environments have both stacks", isVerified)
	c.commit("main", "limit the costs", lanePromotion("130"))
	c.awaitChain("no plan changes the costs", isVerified)
	move := func(team, size string, environments ...string) {
		c.commit("main", team+" has the size "+size, map[string]string{"blueprints/" + team + ".yaml": laneBlueprint(team, size)})
		for _, e := range environments {
			c.awaitModule(e, strconv.Quote(size), true)
			c.approvePlan(e, team+"/"+e+"/queue")
		}
	}
	move("shop", "7") // too much, and nobody approves it
	c.await("dev", "shop/dev/queue waits")
	move("hello", "2", demoEnvironments...)
	move("shop", "3", "dev")
	c.await("stage", "shop/stage/queue waits")
	move("hello", "4", demoEnvironments...)
	for name, text := range c.module("prod") {
		if strings.Contains(text, `"7"`) || strings.Contains(text, `"3"`) {
			t.Errorf("prod has what waits in stage: %s", name)
		}
	}
}
