package browsertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// shopStack is a stack of two components, of which a person approves the plans of one.
const shopStack = `apiVersion: fairlead.io/v1alpha1
kind: StackSettings
metadata: {name: stacks}
spec:
  state: {bucket: zmart-state, region: us-east-1}
  modules: {repo: "https://git.example.com/out"}
  plans: {webhook: "http://fairlead.fairlead.svc:8080/webhooks/plans"}
---
apiVersion: stable.cloudknit.io/v1
kind: Environment
metadata: {name: shop-eu}
spec:
  teamName: shop # the team
  envName: eu
  components:
    - {name: network, type: terraform, autoApprove: true, module: {source: "https://github.com/x/y?ref=v1.0"}}
    - {name: database, type: terraform, dependsOn: [network], module: {source: "https://github.com/x/y?ref=v1.0"}}
`

// waitForAnswer waits until an answer of the API says something.
func waitForAnswer(w *Window, path, text string) {
	w.t.Helper()
	w.WaitUntil(fmt.Sprintf("fetch(%q).then(r => r.text()).then(t => t.includes(%q))", "/api/v1"+path, text))
}

// TestStackLevers: a person approves the plan of a stack and tears the stack down, with what follows shown before;
// without script, at 400 px. Whoever may approve commits may do neither.
func TestStackLevers(t *testing.T) {
	browser := Start(t)
	t.Setenv("FAIRLEAD_TEST_SECRET", clusterSecret)
	f := startFleet(t, "    - {groups: [infra], may: [approve-plan, teardown], in: [dev]}\n  signIn: {proxy: {from: [127.0.0.1]}}\nledger: {secret: {env: FAIRLEAD_TEST_SECRET}}\n")
	f.commit("dev", "shop.yaml", shopStack, "Add the shop", "carol")
	f.send(http.MethodPost, "/api/v1/wake", "")
	seer := browser.Open(t, View{Width: 1280, Script: true})
	seer.Visit(f.root + "/settings")
	waitForAnswer(seer, "/stacks", `"word": "not reported"`) // it is merged
	w := browser.Open(t, View{Width: 400})
	w.Visit(f.root + "/")
	w.Run(chromedp.Click(`nav summary`, chromedp.ByQuery))
	w.Click(`nav a[href="./stacks"]`)
	w.Click(`main a[href="./stacks/shop/eu?env=dev"]`)
	w.WaitFor("main", "a person approves it")
	if w.Text(".levers") != "" {
		t.Errorf("somebody who has not signed in may %s", w.Text(".levers"))
	}
	f.signInAs("bob sre")
	w.Visit(f.root + "/stacks/shop/eu")
	w.WaitFor("#not-teardown", "only group infra may")

	f.signInAs("alice@example.com infra")
	run := f.sendShopPlan(t)
	for _, v := range fourViews {
		seen := browser.Open(t, v)
		for i, path := range stackPages {
			path = strings.Replace(path, runOfStack, run, 1)
			seen.Visit(f.root + path)
			checkWidth(t, seen, v.Width, path)
			checkAccessible(t, seen, path)
			seen.keepPicture(fmt.Sprintf("stack-%d-%d-%v.png", i, v.Width, v.Dark))
		}
	}
	w.Visit(f.root + "/stacks/shop/eu")
	w.WaitFor("main", "+0 ~2 −1")
	w.Click(`main a[href*="/runs/"]`)
	w.WaitFor("main pre", "module.server.terraform_data.old[0] will be destroyed")
	w.Click(`main .levers a`)
	w.WaitFor("#consequences", "tofu-controller applies the plan plan-fairlead-modules-dev-")
	checkWidth(t, w, 400, "approve-plan")
	w.Click("#confirm")
	w.WaitFor("#written-as", "Written as")
	if got := f.head("dev"); !strings.HasPrefix(got, "alice@example.com <alice@example.com>, Fairlead\nApprove the plan plan-fairlead-modules-dev-") || !strings.Contains(got, "Fairlead-Via: web\n") {
		t.Errorf("the commit is %s", got)
	}
	if text := gittest.Git(t, f.plane, "show", "dev:.fairlead/plans/shop-eu-database.yaml"); !strings.Contains(text, "digest: sha256:") {
		t.Errorf("the approval names no digest:\n%s", text)
	}
	waitForAnswer(seer, "/stacks/shop/eu", `"approval": "plan-fairlead-modules-dev-`)

	const teardown = "/levers/teardown?env=dev&stack=shop/eu"
	_, text := f.send(http.MethodGet, "/api/v1"+teardown, "")
	var seen struct{ Seen string }
	if err := json.Unmarshal([]byte(text), &seen); err != nil || seen.Seen == "" {
		t.Fatalf("%v: %s", err, text)
	}
	body := func(typed string) string {
		return fmt.Sprintf(`{"env": "dev", "stack": "shop/eu", "reason": "it moved", "typed": %q, "seen": %q}`, typed, seen.Seen)
	}
	f.commit("dev", "readme.md", "more", "Say more", "carol")
	for _, c := range []struct {
		user, body string
		code       int
		want       string
	}{
		{"bob sre", body("shop/eu"), http.StatusForbidden, "only group infra may"},
		{"alice@example.com infra", body("shop/us"), http.StatusBadRequest, "the name that was typed is not that of the stack"},
		{"alice@example.com infra", body("shop/eu"), http.StatusConflict, "not any more what you have seen"},
		{"alice@example.com infra", `{"env": "dev", "typed": "", "reason": "x", "seen": "force"}`, http.StatusBadRequest, "the request names no stack"},
	} {
		f.signInAs(c.user)
		before := f.head("dev")
		code, text := f.send(http.MethodPost, "/api/v1/levers/teardown", c.body, "Content-Type", "application/json")
		if code != c.code || !strings.Contains(text, c.want) || f.head("dev") != before {
			t.Errorf("%s of %s: %d %s, want %d %s", c.body, c.user, code, text, c.code, c.want)
		}
	}
	w.Visit(f.root + teardown)
	w.WaitFor("#consequences", "Clusters destroy 2 components, in this order: database, network.")
	w.WaitFor("#consequences", "Before that, a person approves the plan to destroy database.")
	w.Run(chromedp.SendKeys(`input[name="typed"]`, "shop/eu", chromedp.ByQuery))
	w.Submit(`input[name="reason"]`, "it moved")
	w.WaitFor("#written-as", "Written as")
	want := strings.Replace(shopStack, "  teamName: shop", "  teardown: true\n  teamName: shop", 1)
	if got := gittest.Git(t, f.plane, "show", "dev:shop.yaml") + "\n"; got != want {
		t.Errorf("the file is\n%s", got)
	}
	if left := gittest.Git(t, f.plane, "ls-tree", "--name-only", "dev", ".fairlead/plans/"); left != "" { // it would stop the stack
		t.Errorf("the approval is still in %s", left)
	}
	waitForAnswer(seer, "/stacks/shop/eu", `"change": "destroyed"`) // a person merges what removes so much
}

// stackPages are kinds of pages about stacks; the test writes runOfStack otherwise.
var stackPages = []string{"/stacks", "/stacks/shop/eu", "/levers/teardown?env=dev&stack=shop/eu", runOfStack}

const runOfStack = "/stacks/shop/eu/runs/0"

// clusterSecret is what the keys of clusters are derived from.
const clusterSecret = "0123456789012345678901234567890123456789"

// sendShopPlan has a cluster report the database of the shop, and send its plan, and returns the path of the page of
// that.
func (f *fleet) sendShopPlan(t *testing.T) string {
	t.Helper()
	key, err := ledger.DeriveKey(clusterSecret, "east-1", 0)
	if err != nil {
		t.Fatal(err)
	}
	read := func(path string, into any) {
		if _, text := f.send(http.MethodGet, path, ""); json.Unmarshal([]byte(text), into) != nil {
			t.Fatalf("%s: %s", path, text)
		}
	}
	var stack answer.Stack
	var now answer.Status
	read("/api/v1/stacks/shop/eu", &stack)
	read("/api/v1/status", &now)
	dev, _ := now.FindEnvironment("dev")
	database := stack.Parts[1]
	state := agentapi.NewState([]agentapi.Entry{
		{
			Kind: "Kustomization", Namespace: "flux-system", Name: "fleet", Phase: "ready", Revision: "dev@sha1:" + dev.Output.Head, Observed: true,
			Source: &agentapi.Source{URL: dev.Output.Repo, Ref: dev.Output.Branch, Path: dev.Output.Folder + "/large"},
		},
		{Kind: "Terraform", Namespace: stack.Namespace, Name: database.Object, Phase: "waiting", Plan: ledger.Plan{ID: database.Plan}, Observed: true},
	}, nil)
	body, err := json.Marshal(agentapi.Request{Version: 1, Cluster: "east-1", UID: "uid-1", Boot: "1", Sequence: 1, Sent: time.Now(), Every: "1m0s", Count: 2, Full: true, Digest: state.Digest, Entries: state.Entries()})
	if err != nil {
		t.Fatal(err)
	}
	if code, text := f.send(http.MethodPost, agentapi.Path, string(body), agentapi.ClusterHeader, "east-1", agentapi.SignatureHeader, agentapi.Sign(key, http.MethodPost, body)); code >= 300 {
		t.Fatalf("%d %s", code, text)
	}
	plan, err := os.ReadFile("../../render/tfplan/testdata/update.json")
	if err != nil {
		t.Fatal(err)
	}
	object := fmt.Sprintf(`{"apiVersion": "infra.contrib.fluxcd.io/v1alpha2", "kind": "Terraform", "metadata": {"namespace": %q, "name": %q, "annotations": {"fairlead.io/inputs": %q}}, "status": {"plan": {"pending": %q}, "tfplan": %s}}`, stack.Namespace, database.Object, database.Inputs, database.Plan, plan)
	if code, text := f.send(http.MethodPost, "/webhooks/plans/east-1", object, "Authorization", "Bearer "+key); code != http.StatusOK || !strings.Contains(text, `"kept": true`) {
		t.Fatalf("%d %s", code, text)
	}
	read("/api/v1/stacks/shop/eu", &stack)
	if stack.Parts[1].Run == nil {
		t.Fatalf("%+v", stack)
	}
	return "/stacks/shop/eu/runs/" + stack.Parts[1].Run.ID
}
