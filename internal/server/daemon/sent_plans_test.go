package daemon_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// deriveKey returns the key of a cluster.
func deriveKey(t *testing.T, cluster string) string {
	t.Helper()
	key, err := ledger.DeriveKey(strings.Repeat("0123456789", 4), cluster, 0)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// postReport posts what an agent on a cluster reports of its objects, and returns the status of the answer.
func postReport(t *testing.T, base, cluster string, entries ...agentapi.Entry) int {
	t.Helper()
	state := agentapi.NewState(entries, nil)
	request := agentapi.Request{Version: 1, Cluster: cluster, UID: "uid-" + cluster, Boot: "1", Sequence: 1, Sent: time.Now(), Every: "1m0s", Count: len(entries), Full: true}
	request.Digest, request.Entries = state.Digest, state.Entries()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{agentapi.ClusterHeader: {cluster}, agentapi.SignatureHeader: {agentapi.Sign(deriveKey(t, cluster), http.MethodPost, body)}}
	code, _ := post(t, base+agentapi.Path, header, body)
	return code
}

// post posts a body with headers, and returns the answer.
func post(t *testing.T, address string, header http.Header, body []byte) (code int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		request.Header.Set(name, values[0])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

// TestServeSentPlans: a plan that a cluster sends with its key is on the page of its stack and has a page of its own;
// one without the key is refused, and nothing of it is anywhere. The plan is the object of the output with a plan of
// Terraform's, as a job on the cluster sends it.
func TestServeSentPlans(t *testing.T) {
	dir, o := began(t)
	writeSecrets(t, dir)
	work := filepath.Join(dir, "work")
	gittest.Git(t, dir, "clone", "--quiet", "--branch", "dev", o.ControlPlane, work)
	stack, _, _ := strings.Cut(planStack, "---\napiVersion: fairlead.io/v1alpha1\nkind: ClusterModules")
	if err := os.WriteFile(filepath.Join(work, "stack.yaml"), []byte(stack), 0o644); err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, work, "add", "stack.yaml")
	gittest.Git(t, work, "commit", "--quiet", "--message", "A stack")
	gittest.Git(t, work, "push", "--quiet")
	ctx, stop := limited(t)
	defer stop()
	base, cycles := "", 0
	err := daemon.Serve(ctx, daemon.Options{
		Settings: settings(t, dir, ledgerSettings+"ledger: {secret: {file: secret}}\nmerge: {dev: direct}\n"),
		Version:  "v1", Log: &bytes.Buffer{}, Ready: func(address string) { base = "http://" + address },
		After: func(s status.Snapshot) {
			cycles++
			if len(s.Stacks["dev"]) == 0 || !s.Stacks["dev"][0].Merged {
				if cycles == 5 {
					stop()
				}
				ask(t, "POST", base+"/api/v1/wake")
				return
			}
			defer stop()
			cycles = -1
			out, _ := s.FindEnvironment("dev")
			checkSentPlans(t, base, out.Output, gittest.Git(t, o.GitOps, "show", "dev:environments/checkout/dev/server/objects/terraform.yaml"))
		},
	})
	if err != nil || cycles != -1 {
		t.Errorf("it ended with %v after %d cycles", err, cycles)
	}
}

// checkSentPlans sends a plan of an object of an output in many ways, and looks for it at the page and the API.
func checkSentPlans(t *testing.T, base string, output status.Output, object string) {
	t.Helper()
	platform := agentapi.Entry{
		Kind: "Kustomization", Namespace: "flux-system", Name: "fleet", Phase: "ready", Revision: "dev@sha1:" + output.Head, Observed: true,
		Source: &agentapi.Source{URL: output.Repo, Ref: output.Branch, Path: output.Folder + "/large"},
	}
	var terraform map[string]any
	if err := yaml.Unmarshal([]byte(object), &terraform); err != nil {
		t.Fatal(err)
	}
	meta := terraform["metadata"].(map[string]any)
	waits := agentapi.Entry{Kind: "Terraform", Namespace: meta["namespace"].(string), Name: meta["name"].(string), Phase: "waiting", Plan: ledger.Plan{ID: "plan-fairlead-modules-dev-0123456789"}, Observed: true}
	for cluster, entries := range map[string][]agentapi.Entry{"east-1": {platform, waits}, "east-2": {platform}} {
		if code := postReport(t, base, cluster, entries...); code >= 300 {
			t.Fatalf("the report of %s is answered %d", cluster, code)
		}
	}
	plan, err := os.ReadFile("../../render/tfplan/testdata/update.json")
	if err != nil {
		t.Fatal(err)
	}
	_, known := ask(t, "GET", base+"/api/v1/stacks/checkout/dev?env=dev")
	id := regexp.MustCompile(`"plan": "(plan-[^"]+)"`).FindStringSubmatch(known)
	if id == nil {
		t.Fatalf("it is not known which plan is made: %s", known)
	}
	terraform["status"] = map[string]any{"tfplan": json.RawMessage(plan), "plan": map[string]any{"pending": id[1]}}
	body, err := json.Marshal(terraform)
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"/", "/stacks", "/stacks/checkout/dev?env=dev", "/api/v1/stacks/checkout/dev?env=dev", "/api/v1/status", "/environments/dev", "/metrics"}
	isShown := func() bool {
		text := ""
		for _, path := range paths {
			code, body := ask(t, "GET", base+path)
			if code != http.StatusOK {
				t.Errorf("%s: %d", path, code)
			}
			text += body
		}
		return strings.Contains(text, "+0 ~2 −1") || strings.Contains(text, `"run":`) || strings.Contains(text, "terraform_data.old")
	}
	for _, c := range []struct {
		name, path, key string
		code            int
		shown           bool
	}{
		{"no key", "/webhooks/plans/east-1", "", 401, false},
		{"a wrong key", "/webhooks/plans/east-1", "0123", 401, false},
		{"the key of another cluster", "/webhooks/plans/east-1", deriveKey(t, "east-2"), 401, false},
		{"as tofu-controller asks", "/webhooks/plans", "", 200, false},
		{"a cluster that does not report the component", "/webhooks/plans/east-2", deriveKey(t, "east-2"), 200, false},
		{"the cluster", "/webhooks/plans/east-1", deriveKey(t, "east-1"), 200, true},
	} {
		header := http.Header{}
		if c.key != "" {
			header.Set("Authorization", "Bearer "+c.key)
		}
		code, text := post(t, base+c.path, header, body)
		if code != c.code || isShown() != c.shown {
			t.Errorf("%s: %d %s; shown: %v", c.name, code, text, isShown())
		}
	}
	_, list := ask(t, "GET", base+"/stacks/checkout/dev?env=dev")
	found := regexp.MustCompile(`href="\.\./\.\./(stacks/checkout/dev/runs/[0-9a-f]{16}\?env=dev)"`).FindStringSubmatch(list)
	if found == nil {
		t.Fatalf("no link leads to the plan:\n%s", list)
	}
	_, page := ask(t, "GET", base+"/"+found[1])
	for _, want := range []string{"0 to add, 2 to change, 1 to destroy", "terraform_data.old[0] will be destroyed", ">east-1</a>", output.Head, "fairlead approve-plan dev checkout/dev/server --inputs ", " --digest sha256:"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
}
