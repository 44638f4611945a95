package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// switchFiles are a blueprint of two colours, of which one is active, and one that reads it.
func switchFiles(active string) map[string]string {
	return map[string]string{
		"modules/queue/main.tf": "output \"arn\" { value = 1 }\n",
		"modules/dns/main.tf":   "variable \"target\" { type = string }\n",
		"blueprints/shop.yaml":  "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: shop, annotations: {fairlead.io/active: shop-" + active + "}}\nspec: {autoApprove: true, components: [{name: queue, type: terraform, module: {source: ./modules/queue}, outputs: [{name: arn}]}]}\n",
		"blueprints/edge.yaml":  "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: edge}\nspec: {components: [{name: dns, type: terraform, module: {source: ./modules/dns}, variables: [{name: target, valueFrom: shop/queue.arn}]}]}\n",
	}
}

func switchStacks(environment string) map[string]string {
	files := map[string]string{"stacks/edge.yaml": "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: edge}\nspec: {teamName: shop, envName: " + environment + "}\n"}
	for _, colour := range []string{"blue", "green"} {
		files["stacks/shop-"+colour+".yaml"] = "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: shop-" + colour + ", annotations: {fairlead.io/blueprint: shop}}\nspec:\n  teamName: shop\n  envName: " + environment + "-" + colour + "\n"
	}
	return files
}

// awaitRead waits until the DNS record of an environment reads a stack.
func (c *stackChain) awaitRead(environment, stack string) {
	c.Helper()
	c.poll(environment+" reads "+stack, func() bool { return strings.Contains(c.readState(environment), "/"+stack+"/") })
}

func (c *stackChain) readState(environment string) string {
	for name, text := range c.module(environment) {
		if strings.HasSuffix(name, "/dns/terraform/data.tf") {
			return text
		}
	}
	return ""
}

// mergeUntil merges what Fairlead proposes for the output of an environment, until something is so.
func (c *stackChain) mergeUntil(environment, what string, isSo func() bool) {
	c.Helper()
	c.poll(what, func() bool {
		var stdout, stderr bytes.Buffer
		Main(c.Context(), []string{"pr", "merge", environment, "--repo", c.folder.path("gitops.git")}, &stdout, &stderr)
		return isSo()
	})
}

// approveByHand is approvePlan for an environment whose output Fairlead does not merge.
func (c *stackChain) approveByHand(environment, component string) {
	c.Helper()
	c.approveInputs(environment, component)
	c.mergeUntil(environment, component+" is applied", func() bool {
		for len(c.events[environment]) > 0 {
			switch <-c.events[environment] {
			case component + " is applied":
				return true
			case component + " waits": // what it is made of has changed since it was approved
				c.approveWaiting(environment, component)
			}
		}
		return false
	})
}

// TestStackChainSwitch: a commit of the base switches from blue to green, in dev and then in prod, each with a plan of
// what reads the colour. A rollback takes prod back, and a revert of the commit dev; neither needs blue to be made again. Then
// prod is cloned to a new environment, with states of its own. The daemon ends often.
func TestStackChainSwitch(t *testing.T) {
	t.Parallel()
	c := startStacks(t, switchFiles("blue"), switchStacks, "dev", "prod")
	defer c.restartOften()()
	for _, e := range []string{"dev", "prod"} {
		c.approvePlan(e, "shop/"+e+"/dns")
	}
	c.commit("main", "green", switchFiles("green"))
	c.awaitRead("dev", "dev-green")
	if state := c.readState("prod"); !strings.Contains(state, "/prod-blue/") {
		t.Errorf("before dev is verified, prod reads\n%s", state)
	}
	for _, e := range []string{"dev", "prod"} {
		c.approvePlan(e, "shop/"+e+"/dns")
	}
	c.fairlead("rollback", "prod", "--reason", "green is slow", "--timeout", "0")
	c.awaitRead("prod", "prod-blue")
	c.approveByHand("prod", "shop/prod/dns") // it is held
	c.git("fetch", "--quiet")
	c.git("checkout", "--quiet", "-B", "main", "origin/main")
	c.git("revert", "--no-edit", "HEAD")
	c.git("push", "--quiet", "origin", "main")
	c.awaitRead("dev", "dev-blue")
	c.approvePlan("dev", "shop/dev/dns")
	isVerified := func(environment string) func(newest string, stages map[string]status.Stage) bool {
		return func(newest string, stages map[string]status.Stage) bool {
			s := stages[environment]
			return s.Commit == newest && s.Merged && s.Proof.Status == gate.Pass
		}
	}
	c.awaitChain("the revert is verified in dev", isVerified("dev"))
	c.fairlead("release", "prod")
	c.awaitChain("prod has the revert, and nothing to do", isVerified("prod"))
	if state := c.readState("prod"); !strings.Contains(state, "/prod-blue/") {
		t.Errorf("after the revert, prod reads\n%s", state)
	}
	var stdout, stderr bytes.Buffer
	if code := Main(t.Context(), []string{"stack", "teardown", "prod", "shop/prod-blue", "--config", c.folder.path(defaultSettingsFile)}, &stdout, &stderr); code == 0 || !strings.Contains(stderr.String(), "is the active one") {
		t.Errorf("the teardown of blue gives %d: %s", code, stderr.String())
	}
	cloneProd(c)
}

// cloneProd makes the environment eu, with the stacks of prod.
func cloneProd(c *stackChain) {
	c.Helper()
	c.fairlead("create", "environment", "eu", "--from", "prod")
	for _, stack := range []string{"shop-blue", "shop-green", "edge"} {
		env := strings.TrimPrefix(strings.Replace(stack, "shop-", "-", 1), "edge")
		c.fairlead("stack", "clone", "prod", "shop/prod"+env, "shop/eu"+env, "--into", "eu")
	}
	c.mergeUntil("eu", "eu has its stacks", func() bool {
		return c.files("eu")["environments/shop/eu/dns/objects/terraform.yaml"] != ""
	})
	c.join("eu")
	c.approveByHand("eu", "shop/eu/dns")
	if state := c.readState("eu"); !strings.Contains(state, "/eu-blue/") {
		c.Errorf("eu reads\n%s", state)
	}
	prod, eu := c.module("prod"), c.module("eu")
	if len(eu) == 0 || len(eu) != len(prod) {
		c.Errorf("eu has %d files of root modules, and prod %d", len(eu), len(prod))
	}
	for name, text := range prod {
		if got, want := eu[strings.ReplaceAll(name, "/prod-", "/eu-")], strings.ReplaceAll(text, "shop/prod", "shop/eu"); got != want {
			c.Errorf("%s differs in eu:\n%s\nand in prod:\n%s", name, got, text)
		}
	}
}
