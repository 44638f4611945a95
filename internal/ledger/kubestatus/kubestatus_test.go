package kubestatus

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
	"github.com/fairlead-io/fairlead/internal/testkit/crdtest"
)

var update = flag.Bool("update", false, "rewrite the wanted entries in testdata")

// readAt is when the objects of testdata are read.
var readAt = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

// TestRead reads testdata/*.txtar. Each has a cluster's objects, as an API server has them, and what is
// reported of them.
func TestRead(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	schemas, err := crdtest.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			objects := map[string][]json.RawMessage{}
			for i := range archive.Files {
				f := &archive.Files[i]
				if f.Name != "entries" {
					addObjects(t, objects, string(f.Data))
					checkObjects(t, schemas, string(f.Data))
					continue
				}
				got := describe(t, Read(objects, readAt))
				if diff := gocmp.Diff(string(f.Data), got); diff != "" && !*update {
					t.Errorf("(-want +got):\n%s", diff)
				}
				f.Data = []byte(got)
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// checkObjects wants the objects of YAML documents to be such as an API server stores. Of Rancher Fleet
// there are no definitions here.
func checkObjects(t *testing.T, schemas *crdtest.Schemas, documents string) {
	t.Helper()
	for document := range strings.SplitSeq(documents, "\n---\n") {
		if strings.Contains(document, "apiVersion: fleet.cattle.io/") {
			continue
		}
		for _, wrong := range schemas.Check([]byte(document)) {
			t.Error(wrong)
		}
	}
}

func addObjects(t *testing.T, objects map[string][]json.RawMessage, documents string) {
	t.Helper()
	for document := range strings.SplitSeq(documents, "\n---\n") {
		raw, err := yaml.YAMLToJSON([]byte(document))
		var head struct{ Kind string }
		if err == nil {
			err = json.Unmarshal(raw, &head)
		}
		if err != nil {
			t.Fatal(err)
		}
		objects[head.Kind] = append(objects[head.Kind], raw)
	}
}

// describe returns entries as lines of JSON.
func describe(t *testing.T, entries []agentapi.Entry) string {
	t.Helper()
	text := ""
	for _, e := range agentapi.NewState(entries, nil).Entries() {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		text += string(line) + "\n"
	}
	return text
}

// TestPhases is one object at a time: what is other in its status than in the first line, and the phase
// and the revisions that it has then.
func TestPhases(t *testing.T) {
	const (
		a = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		b = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	)
	flux := `metadata: {name: x, namespace: flux-system, generation: 3}
status:
  observedGeneration: 3
  lastAppliedRevision: main@sha1:` + a + `
  lastAttemptedRevision: main@sha1:` + a + `
  conditions:
  - {type: Ready, status: "True", reason: ReconciliationSucceeded, observedGeneration: 3, lastTransitionTime: "2026-11-23T11:00:00Z"}
`
	argo := `metadata: {name: x, namespace: argocd}
spec: {source: {repoURL: "https://git.example.com/fleet/gitops", path: prod/large, targetRevision: main}}
status:
  sync: {status: Synced, revision: ` + a + `}
  health: {status: Healthy, lastTransitionTime: "2026-11-23T11:00:00Z"}
  operationState: {phase: Succeeded, startedAt: "2026-11-23T10:59:00Z", finishedAt: "2026-11-23T10:59:10Z", syncResult: {revision: ` + a + `}}
`
	bundle := `metadata: {name: x, namespace: cluster-fleet-local-local-1a3d67d0a899, labels: {fleet.cattle.io/commit: ` + a + `, fleet.cattle.io/repo-name: fleet, fleet.cattle.io/bundle-namespace: fleet-local}}
spec: {deploymentID: "s-1:2"}
status:
  appliedDeploymentID: "s-1:2"
  ready: true
  nonModified: true
  conditions:
  - {type: Deployed, status: "True", lastUpdateTime: "2026-11-23T11:58:00Z"}
  - {type: Ready, status: "True", lastUpdateTime: "2026-11-23T11:58:00Z"}
`
	repo := `metadata: {name: fleet, namespace: fleet-local, generation: 1}
spec: {repo: "https://git.example.com/fleet/gitops", branch: main, paths: [prod/large]}
status:
  observedGeneration: 1
  commit: ` + a + `
  gitJobStatus: Current
  summary: {desiredReady: 2, ready: 2}
  display: {state: "", readyBundleDeployments: 2/2}
  conditions:
  - {type: Ready, status: "True", lastUpdateTime: "2026-11-23T11:58:00Z"}
`
	helm := `metadata: {name: x, namespace: web, generation: 3}
status:
  observedGeneration: 3
  lastAttemptedRevision: 2.1.0+0cc9a8446c95
  history:
  - {chartName: podinfo, chartVersion: 2.1.0+0cc9a8446c95, appVersion: 6.6.1, status: deployed, version: 2}
  conditions:
  - {type: Ready, status: "True", reason: UpgradeSucceeded, observedGeneration: 3, lastTransitionTime: "2026-11-23T11:00:00Z"}
`
	terraform := `metadata: {name: x, namespace: checkout, generation: 3}
spec: {approvePlan: ""}
status:
  observedGeneration: 3
  lastAppliedRevision: main@sha1:` + a + `
  lastAttemptedRevision: main@sha1:` + a + `
  plan: {lastApplied: plan-main-aaaaaaaaaa, pending: ""}
  conditions:
  - {type: Ready, status: "True", reason: NoDrift, message: "No drift", lastTransitionTime: "2026-11-23T11:00:00Z"}
`
	source := "\n---\nkind: GitRepository\nmetadata: {name: fleet, namespace: flux-system}\nspec: {ref: {branch: main}}\nstatus: {artifact: {revision: \"main@sha1:" + b + "\"}}\n"
	fetched := "spec: {sourceRef: {kind: GitRepository, name: fleet}}\n" + flux + source
	neverTried := []string{"lastAppliedRevision: main@sha1:" + a, "lastAppliedRevision: ''", "lastAttemptedRevision: main@sha1:" + a, "lastAttemptedRevision: ''"}
	planned := []string{`"True", reason: NoDrift`, "Unknown, reason: TerraformPlannedWithChanges", `pending: ""`, "pending: plan-main-bbbbbbbbbb", "lastAttemptedRevision: main@sha1:" + a, "lastAttemptedRevision: main@sha1:" + b}
	onA, onB := "main@sha1:"+a, "main@sha1:"+b
	for _, c := range []struct {
		name, kind, object string
		replace            []string // a text, and what is in its place
		want               string
	}{
		{"ready", "Kustomization", flux, nil, "ready " + onA},
		{"new, without a status", "Kustomization", flux[:strings.Index(flux, "status:")], nil, "progressing"},
		{"suspended, and ready", "Kustomization", "spec: {suspend: true}\n" + flux, nil, "suspended " + onA},
		{"at work", "Kustomization", flux, []string{`"True", reason: ReconciliationSucceeded`, "Unknown, reason: Progressing", "lastAttemptedRevision: " + onA, "lastAttemptedRevision: " + onB}, "progressing " + onA + " to " + onB},
		{"a new specification", "Kustomization", flux, []string{"generation: 3}", "generation: 4}"}, "progressing " + onA},
		{"a new specification, which fails", "Kustomization", flux, []string{"generation: 3}", "generation: 4}", `"True", reason: ReconciliationSucceeded, observedGeneration: 3`, `"False", reason: BuildFailed, observedGeneration: 4`}, "failed " + onA},
		{"the first one fails", "Kustomization", flux, []string{"observedGeneration: 3\n", "observedGeneration: -1\n", `"True", reason: ReconciliationSucceeded`, `"False", reason: BuildFailed`, "lastAppliedRevision: " + onA, "lastAppliedRevision: ''"}, "failed to " + onA},
		{"a failure", "Kustomization", flux, []string{`"True", reason: ReconciliationSucceeded`, `"False", reason: HealthCheckFailed`, "lastAttemptedRevision: " + onA, "lastAttemptedRevision: " + onB}, "failed " + onA + " to " + onB},
		{"the one of before, without its seal", "Kustomization", flux, []string{`"True", reason: ReconciliationSucceeded`, `"False", reason: BuildFailed, message: "lstat /tmp/s/seal-0123456789: no such file or directory"`, "lastAttemptedRevision: " + onA, "lastAttemptedRevision: " + onB}, "progressing " + onA + " to " + onB},
		{"the one of before, without its folder", "Kustomization", flux, []string{`"True", reason: ReconciliationSucceeded`, `"False", reason: ArtifactFailed, message: "kustomization path not found: stat /tmp/k/cloud/net-main/objects: no such file or directory"`, "lastAttemptedRevision: " + onA, "lastAttemptedRevision: " + onB}, "progressing " + onA + " to " + onB},
		{"a folder that is not there", "Kustomization", flux, []string{`"True", reason: ReconciliationSucceeded`, `"False", reason: ArtifactFailed, message: "kustomization path not found: stat /tmp/k/cloud: no such file or directory"`}, "failed " + onA},
		{"waits for another", "Kustomization", flux, []string{`"True", reason: ReconciliationSucceeded`, `"False", reason: DependencyNotReady`}, "progressing " + onA},
		{"a new one waits for another", "Kustomization", fetched, append([]string{`"True", reason: ReconciliationSucceeded`, `"False", reason: DependencyNotReady`}, neverTried...), "progressing to " + onB},
		{"a new one of a source, without a status", "Kustomization", fetched[:strings.Index(fetched, "status:")] + source, nil, "progressing to " + onB},
		{"a new one that may not read its source", "Kustomization", fetched, append([]string{`"True", reason: ReconciliationSucceeded`, `"False", reason: AccessDenied`}, neverTried...), "failed to " + onB},
		{"a new one that is suspended", "Kustomization", fetched, append([]string{"spec: {", "spec: {suspend: true, "}, neverTried...), "suspended"},
		{"ready, and nobody knows at what", "Kustomization", fetched, neverTried, "ready"},
		{"waits for another at a newer revision", "Kustomization", fetched, []string{`"True", reason: ReconciliationSucceeded`, `"False", reason: DependencyNotReady`}, "progressing " + onA},
		{"a newer revision came", "Kustomization", flux, []string{`"True", reason: ReconciliationSucceeded`, `"False", reason: HealthCheckCanceled`}, "progressing " + onA},
		{"no artifact yet", "Kustomization", flux + "  - {type: Reconciling, status: \"True\", reason: Progressing}\n", []string{`"True", reason: ReconciliationSucceeded`, `"False", reason: ArtifactFailed`}, "progressing " + onA},
		{"no artifact", "Kustomization", flux + "  - {type: Reconciling, status: \"True\", reason: ProgressingWithRetry}\n", []string{`"True", reason: ReconciliationSucceeded`, `"False", reason: ArtifactFailed`}, "failed " + onA},
		{"a status that is none", "Kustomization", flux, []string{"  conditions:", "  conditions: 1\n  others:"}, "unknown"},
		{"an artifact of a commit", "Kustomization", flux, []string{"lastAppliedRevision: " + onA, "lastAppliedRevision: latest@sha256:1\n  lastAppliedOriginRevision: " + onA, "lastAttemptedRevision: " + onA, "lastAttemptedRevision: latest@sha256:1"}, "ready latest@sha256:1 of " + onA},

		{"a chart", "HelmRelease", helm, nil, "ready 2.1.0+0cc9a8446c95 app 6.6.1"},
		{"a chart that fails", "HelmRelease", helm, []string{"lastAttemptedRevision: 2.1.0+0cc9a8446c95", "lastAttemptedRevision: 2.2.0", "  history:", "  history:\n  - {chartVersion: 2.2.0, appVersion: 6.7.0, status: failed, version: 3}", `"True", reason: UpgradeSucceeded`, `"False", reason: UpgradeFailed`}, "failed 2.1.0+0cc9a8446c95 to 2.2.0 app 6.6.1"},
		{"a chart that was rolled back", "HelmRelease", helm, []string{"lastAttemptedRevision: 2.1.0+0cc9a8446c95", "lastAttemptedRevision: 2.2.0", "  history:", "  history:\n  - {chartVersion: 2.1.0+0cc9a8446c95, appVersion: 6.6.1, status: deployed, version: 4}\n  - {chartVersion: 2.2.0, appVersion: 6.7.0, status: superseded, version: 3}", `"True", reason: UpgradeSucceeded`, `"False", reason: RollbackSucceeded`}, "failed 2.1.0+0cc9a8446c95 to 2.2.0 app 6.6.1"},
		{"a chart that was never installed", "HelmRelease", helm, []string{"status: deployed", "status: failed", `"True", reason: UpgradeSucceeded`, `"False", reason: InstallFailed`}, "failed to 2.1.0+0cc9a8446c95"},

		{"applied", "Terraform", terraform, nil, "ready " + onA},
		{"new, without a status", "Terraform", terraform[:strings.Index(terraform, "status:")], nil, "progressing"},
		{"suspended, with a plan", "Terraform", terraform, append([]string{`approvePlan: ""`, `approvePlan: "", suspend: true`}, planned...), "suspended " + onA + " to " + onB},
		{"a plan that waits", "Terraform", terraform, planned, "waiting " + onA + " to " + onB},
		{"a plan that is approved", "Terraform", terraform, append([]string{`approvePlan: ""`, "approvePlan: plan-main-bbbbbbbbbb"}, planned...), "progressing " + onA + " to " + onB},
		{"a plan that another one was approved before", "Terraform", terraform, append([]string{`approvePlan: ""`, "approvePlan: plan-main-aaaaaaaaaa"}, planned...), "waiting " + onA + " to " + onB},
		{"a plan that nobody has to approve", "Terraform", terraform, append([]string{`approvePlan: ""`, "approvePlan: auto"}, planned...), "progressing " + onA + " to " + onB},
		{"planning", "Terraform", terraform, []string{`"True", reason: NoDrift`, "Unknown, reason: Progressing"}, "progressing " + onA},
		{"applied, and a new specification", "Terraform", terraform, []string{"generation: 3}", "generation: 4}"}, "progressing " + onA},
		{"drift", "Terraform", terraform, []string{`"True", reason: NoDrift`, `"False", reason: DriftDetected`}, "drifted " + onA},
		{"a plan that fails", "Terraform", terraform, []string{`"True", reason: NoDrift`, `"False", reason: TFExecPlanFailed`}, "failed " + onA},
		{"a status that is none", "Terraform", terraform, []string{"  conditions:", "  conditions: 1\n  others:"}, "unknown"},

		{"synced and healthy", "Application", argo, nil, "ready " + onA},
		{"synced, and healthy after a failure", "Application", argo, []string{"phase: Succeeded", "phase: Failed"}, "ready " + onA},
		{"synced, and not healthy yet", "Application", argo, []string{"status: Healthy", "status: Progressing"}, "progressing " + onA},
		{"synced, with hooks that run", "Application", argo, []string{"phase: Succeeded", "phase: Running"}, "progressing " + onA},
		{"degraded", "Application", argo, []string{"status: Healthy", "status: Degraded"}, "failed " + onA},
		{"suspended", "Application", argo, []string{"status: Healthy", "status: Suspended"}, "suspended " + onA},
		{"a new commit", "Application", argo, []string{"Synced, revision: " + a, "OutOfSync, revision: " + b}, "progressing to " + onB},
		{"a branch that was not looked up", "Application", argo, []string{"Synced, revision: " + a, "OutOfSync, revision: main"}, "progressing"},
		{"a sync that fails", "Application", argo, []string{"Synced, revision: " + a, "OutOfSync, revision: " + b, "phase: Succeeded", "phase: Failed", "syncResult: {revision: " + a, "syncResult: {revision: " + b}, "failed to " + onB},
		{"it cannot be compared for a moment", "Application", argo + "  conditions: [{type: ComparisonError, message: \"repo not found\", lastTransitionTime: \"2026-11-23T11:56:00Z\"}]\n", []string{"Synced, revision: " + a, "Unknown, revision: main"}, "progressing"},
		{"it cannot be compared", "Application", argo + "  conditions: [{type: ComparisonError, message: \"repo not found\", lastTransitionTime: \"2026-11-23T11:54:00Z\"}]\n", []string{"Synced, revision: " + a, "Unknown, revision: main"}, "failed"},
		{"a chart of Argo CD", "Application", argo, []string{"path: prod/large, targetRevision: main", "chart: podinfo, targetRevision: 6.x", a, "6.6.1"}, "ready 6.6.1"},
		{"several sources", "Application", argo, []string{"source: {repoURL", "sources: [{repoURL", "targetRevision: main}}", "targetRevision: main}, {repoURL: x}]}", "Synced, revision: " + a, "Synced, revisions: [" + a + ", " + b + "]"}, "ready " + onA},
		{"at HEAD", "Application", argo, []string{"targetRevision: main", "targetRevision: HEAD"}, "ready sha1:" + a},
		{"not looked at yet", "Application", argo[:strings.Index(argo, "status:")], nil, "progressing"},

		{"a bundle that is ready", "BundleDeployment", bundle, nil, "ready sha1:" + a},
		{"a bundle that is new", "BundleDeployment", bundle, []string{`appliedDeploymentID: "s-1:2"`, `appliedDeploymentID: "s-1:1"`}, "progressing to sha1:" + a},
		{"a bundle that cannot be applied", "BundleDeployment", bundle, []string{`appliedDeploymentID: "s-1:2"`, `appliedDeploymentID: "s-1:1"`, `Deployed, status: "True"`, `Deployed, status: "False"`}, "failed to sha1:" + a},
		{"a bundle that gets ready", "BundleDeployment", bundle, []string{"ready: true", "ready: false"}, "progressing to sha1:" + a},
		{"a bundle that does not get ready", "BundleDeployment", bundle, []string{"ready: true", "ready: false", "11:58:00", "11:50:00", "11:58:00", "11:50:00"}, "failed to sha1:" + a},
		{"a bundle that somebody changed", "BundleDeployment", bundle, []string{"nonModified: true", "nonModified: false", "11:58:00", "11:50:00", "11:58:00", "11:50:00"}, "failed to sha1:" + a},
		{"a bundle that is paused", "BundleDeployment", bundle, []string{"spec: {", "spec: {paused: true, "}, "suspended to sha1:" + a},

		{"all bundles are ready", "GitRepo", repo, nil, "ready " + onA},
		{"a commit that was found", "GitRepo", repo, []string{"gitJobStatus: Current", "gitJobStatus: InProgress"}, "progressing to " + onA},
		{"a commit that cannot be read", "GitRepo", repo, []string{"gitJobStatus: Current", "gitJobStatus: Failed"}, "failed to " + onA},
		{"a repository that cannot be read", "GitRepo", repo + "  - {type: Stalled, status: \"True\", message: \"authentication required\"}\n", nil, "failed to " + onA},
		{"not all bundles are ready", "GitRepo", repo, []string{"ready: 2}", "ready: 1, waitApplied: 1}"}, "progressing to " + onA},
		{"a bundle failed", "GitRepo", repo, []string{"ready: 2}", "ready: 1, errApplied: 1}"}, "failed to " + onA},
		{"a bundle was changed a moment ago", "GitRepo", repo, []string{"ready: 2}", "ready: 1, modified: 1}"}, "progressing to " + onA},
		{"a bundle was changed", "GitRepo", repo, []string{"ready: 2}", "ready: 1, modified: 1}", "11:58:00", "11:50:00"}, "failed to " + onA},
		{"a repository that is paused", "GitRepo", repo, []string{"spec: {", "spec: {paused: true, "}, "suspended to " + onA},
		{"a bundle of the commit before", "GitRepo", repo + "---\nkind: BundleDeployment\n" + bundle, []string{"fleet.cattle.io/commit: " + a, "fleet.cattle.io/commit: " + b}, "progressing to " + onA},
	} {
		text := "kind: " + c.kind + "\n" + c.object
		for i := 0; i < len(c.replace); i += 2 {
			changed := strings.Replace(text, c.replace[i], c.replace[i+1], 1)
			if changed == text {
				t.Fatalf("%s: %q is not there", c.name, c.replace[i])
			}
			text = changed
		}
		objects := map[string][]json.RawMessage{}
		addObjects(t, objects, text)
		for _, e := range Read(objects, readAt) {
			if got := describePhase(e); e.Kind == c.kind && got != c.want {
				t.Errorf("%s: %s, want %s (%s)", c.name, got, c.want, e.Message)
			}
		}
	}
}

// TestTerraformMessages: the message of a Terraform object is the useful part of what its controller says.
func TestTerraformMessages(t *testing.T) {
	const boilerplate = "\\nTerraform used the selected providers to generate the following execution\\nplan. Resource actions are indicated with the following symbols:\\n  + create\\n\\nTerraform will perform the following actions:\\n\\n"
	for _, c := range []struct{ name, status, phase, want, approved string }{
		{"a plan", `plan: {pending: plan-main-b}, conditions: [{type: Ready, status: Unknown, reason: TerraformPlannedWithChanges, message: "Plan generated: set approvePlan"}]`, "waiting", "", ""},
		{"drift", `conditions: [{type: Ready, status: "False", reason: DriftDetected, message: "Drift detected.\nnull_resource.a"}]`, "drifted", "null_resource.a", ""},
		{"drift of tofu-controller 0.16", `conditions: [{type: Ready, status: "False", reason: DriftDetected, message: "` + boilerplate + `  # a.b will be created\n  + resource \"a\" \"b\" {\n    }\n\nPlan: 1 to add, 0 to change, 0 to destroy."}]`, "drifted", "a.b will be created; Plan: 1 to add, 0 to change, 0 to destroy.", ""},
		{"another plan than the approved one", `plan: {pending: plan-main-b}, conditions: [{type: Plan, status: "False", reason: PostPlanningWebhookFailed, message: "` + tfplan.Differs + `: it is x"}, {type: Ready, status: "False", reason: PostPlanningWebhookFailed, message: "` + tfplan.Differs + `: it is x"}]`, "failed", tfplan.Differs + ": it is x", "plan-main-b"},
		{"a failure", `conditions: [{type: Ready, status: "False", reason: TFExecInitFailed, message: "error running Init: rpc error: code = Internal desc = exit status 1\n\nError: no such provider\n\n  on main.tf"}]`, "failed", "no such provider on main.tf", ""},
		{"a failure of the controller", `conditions: [{type: Ready, status: "False", reason: TFExecInitFailed, message: "error running Init"}]`, "failed", "error running Init", ""},
	} {
		objects := map[string][]json.RawMessage{}
		addObjects(t, objects, "kind: Terraform\nmetadata: {name: x, namespace: checkout}\nspec: {approvePlan: \""+c.approved+"\"}\nstatus: {"+c.status+"}\n")
		if got := Read(objects, readAt)[0]; got.Message != c.want || got.Phase != c.phase {
			t.Errorf("%s: %s with %q, want %s with %q", c.name, got.Phase, got.Message, c.phase, c.want)
		}
	}
}

func describePhase(e agentapi.Entry) string {
	text := e.Phase
	for _, part := range [][2]string{{" ", e.Revision}, {" of ", e.Origin}, {" to ", e.Attempted}, {" app ", e.App}} {
		if part[1] != "" {
			text += part[0] + part[1]
		}
	}
	return text
}

// TestMessages: what changes although nothing happens, and what should not leave the cluster, is not in a
// message.
func TestMessages(t *testing.T) {
	for _, c := range []struct{ message, want string }{
		{"health check failed after 30.012s: timeout waiting for: [Deployment/web/api status: 'InProgress']", "health check failed after #s: timeout waiting for: [Deployment/web/api status: 'InProgress']"},
		{"failed after 5m0s", "failed after #s"},
		{"next run in 1h2m3.5s, or 250ms", "next run in #s, or #s"},
		{"two\n  lines\tand \x1b[31mred\x00", "two lines and [31mred"},
		{"login with password=hunter2 failed", "login with password=*** failed"},
		{`{"token": "abc def", "name": "x"}`, `{"token": ***, "name": "x"}`},
		{"DB_PASSWORD: hunter2, user: x", "DB_PASSWORD: ***, user: x"},
		{"cannot clone https://user:hunter2@git.example.com/x", "cannot clone https://***@git.example.com/x"},
		{"the secret web/api is missing", "the secret web/api is missing"},
		{"v1.2.3 of 40 objects, 3 more", "v1.2.3 of 40 objects, 3 more"},
		{strings.Repeat("x", 300), ""},
	} {
		got := cleanMessage(c.message)
		if c.want == "" {
			if len(got) > longestMessage {
				t.Errorf("%d bytes are left of a long message", len(got))
			}
			continue
		}
		if got != c.want {
			t.Errorf("%q becomes %q, want %q", c.message, got, c.want)
		}
	}
}

// TestKinds: every kind can be read.
func TestKinds(t *testing.T) {
	for _, kind := range Kinds() {
		all := Read(map[string][]json.RawMessage{kind.Name: {json.RawMessage(`{"metadata": {"name": "x", "namespace": "y"}}`)}}, readAt)
		if len(all) != 1 || all[0].Kind != kind.Name || all[0].Phase == "unknown" {
			t.Errorf("%s is read as %+v", kind.Name, all)
		}
	}
}
