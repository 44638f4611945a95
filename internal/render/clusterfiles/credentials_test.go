package clusterfiles_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

const (
	// sealedValue is what SOPS has made of a credential, and clearValue a credential, which nothing may show.
	sealedValue = "ENC[AES256_GCM,data:bm90LWEta2V5,iv:aXY=,tag:dGFn,type:str]"
	clearValue  = "not-a-real-key-0123456789"
)

// credentialsManifest is a manifest for all executors. EXECUTOR and PROVIDER stand for what differs.
const credentialsManifest = `apiVersion: claudie.io/v1beta1
kind: InputManifest
metadata: {name: m, namespace: fleet, annotations: {fairlead.io/executor: EXECUTOR}}
spec:
  providers: [{name: hetzner-1, providerType: hetzner, secretRef: {name: a, namespace: fleet}PROVIDER}]
  nodePools:
    dynamic: [{name: control, providerSpec: {name: hetzner-1, region: hel1}, count: 3, serverType: cpx22, image: a}]
  kubernetes:
    clusters: [{name: one, version: 1.35.0, network: 192.168.2.0/24, pools: {control: [control], compute: []}}]
`

const secretHead = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: fleet}\n"

// showAll returns all that people see of a rendered output: the files, but for those of credentials, the
// problems, and the plan in pull requests, on terminals and in JSON.
func showAll(t *testing.T, files tree.Tree, problems problem.List) string {
	t.Helper()
	var b strings.Builder
	for file, data := range files.All() {
		if !strings.Contains(file, "/10-credentials/") {
			b.WriteString(file + "\n" + string(data))
		}
	}
	b.WriteString(golden.Problems(problems))
	whole := tree.FromEntries([]tree.Entry{tree.Dir(clusterfiles.Folder, files)})
	for _, change := range append(impact.CompareClusters(tree.Tree{}, whole), impact.CompareClusters(whole, tree.Tree{})...) {
		text, err := json.Marshal(change)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(change.Markdown(100) + change.MermaidGraph() + string(text))
	}
	return b.String()
}

// TestCredentialsAreNotShown: what SOPS has encrypted is in the files of credentials alone, byte for byte,
// and a credential in clear stops the environment and is shown nowhere, wherever somebody writes it.
func TestCredentialsAreNotShown(t *testing.T) {
	sealed := secretHead + "stringData: {credentials: \"" + sealedValue + "\"}\nsops: {version: 3.9.0}\n"
	encoded := base64.StdEncoding.EncodeToString([]byte(clearValue))
	for _, executor := range clusters.Executors {
		manifest := func(provider string) string {
			return strings.NewReplacer("EXECUTOR", executor, "PROVIDER", provider).Replace(credentialsManifest)
		}
		files, problems := renderTexts(t, manifest(""), sealed)
		if problems.Stops() {
			t.Fatalf("%s: %s", executor, golden.Problems(problems))
		}
		shown := showAll(t, files, problems)
		if strings.Contains(shown, sealedValue) || strings.Contains(shown, "bm90LWEta2V5") {
			t.Errorf("%s: what SOPS encrypted is shown outside of its file:\n%s", executor, shown)
		}
		if !strings.Contains(shown, "lock.yaml") || !strings.Contains(shown, "install Kubernetes") {
			t.Errorf("%s: too little is looked at:\n%s", executor, shown)
		}
		found := false
		for file, data := range files.All() {
			found = found || strings.Contains(file, "/10-credentials/") && string(data) == sealed
		}
		if !found {
			t.Errorf("%s: no file has the Secret as SOPS made it", executor)
		}
		for what, c := range map[string]struct{ provider, more string }{
			"a Secret in clear":               {"", secretHead + "stringData: {credentials: " + clearValue + "}\n"},
			"a Secret in base64":              {"", secretHead + "data: {credentials: " + encoded + "}\n"},
			"a Secret that is sealed in part": {"", secretHead + "stringData: {credentials: " + clearValue + "}\nsops: {version: 3.9.0}\n"},
			"a field that there is not":       {", credentials: " + clearValue, sealed},
			"the address of templates":        {", templates: {repository: 'https://x:" + clearValue + "@example.com/t', path: p, tag: v1.0.0}", sealed},
			"the repository of other modules": {"", sealed + "---\n" + strings.Replace(strings.SplitAfter(randomSettings, "---\n")[1], "https://", "https://x:"+clearValue+"@", 1)},
		} {
			files, problems := renderTexts(t, manifest(c.provider), c.more)
			if problems.Stops() { // nothing is published
				files = tree.Tree{}
			} else {
				t.Errorf("%s: %s does not stop the environment", executor, what)
			}
			shown := showAll(t, files, problems)
			if strings.Contains(shown, clearValue) || strings.Contains(shown, encoded) {
				t.Errorf("%s: %s is shown:\n%s", executor, what, shown)
			}
		}
	}
}

// TestUnknownExecutor: an executor that there is not is one problem.
func TestUnknownExecutor(t *testing.T) {
	manifest := strings.NewReplacer("EXECUTOR", "terraform, fairlead.io/existing-secrets: fleet/a", "PROVIDER", "").Replace(credentialsManifest)
	files, problems := renderTexts(t, manifest, "# nothing\n")
	if n, _ := problems.Count(); n != 1 || !files.IsEmpty() || !strings.Contains(golden.Problems(problems), "the executors are claudie, tofu and capi") {
		t.Errorf("%d problems:\n%s", n, golden.Problems(problems))
	}
}

// TestSecretsHaveOneSource: when a Secret comes from another file, or from elsewhere, the file that it came from
// does not stay: both would write it. An ExternalSecret is not removed from the management cluster by that.
func TestSecretsHaveOneSource(t *testing.T) {
	const (
		sops     = secretHead + "stringData: {credentials: \"" + sealedValue + "\"}\nsops: {version: 3.9.0}\n"
		external = "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: NAME, namespace: fleet}\n" +
			"spec: {secretStoreRef: {name: vault, kind: ClusterSecretStore}, target: {name: a}, data: [{secretKey: credentials, remoteRef: {key: k}}]}\n"
		none = "# nothing\n"
		left = "the ExternalSecret fleet/a stays on the management cluster, and goes on writing the Secret fleet/a"
	)
	named := func(name string) string { return strings.ReplaceAll(external, "NAME", name) }
	for _, executor := range clusters.Executors {
		for what, c := range map[string]struct{ before, after, annotation, want, warning string }{
			"SOPS to an ExternalSecret":           {sops, named("a"), "", "externalsecret-fleet-a.yaml", ""},
			"an ExternalSecret to SOPS":           {named("a"), sops, "", "secret-fleet-a.yaml", left},
			"an ExternalSecret with another name": {named("a"), named("b"), "", "externalsecret-fleet-b.yaml", left},
			"SOPS to a Secret that is there":      {sops, none, ", fairlead.io/existing-secrets: fleet/a", "", ""},
			"to a Secret that is there":           {named("a"), none, ", fairlead.io/existing-secrets: fleet/a", "", left},
		} {
			manifest := strings.NewReplacer("EXECUTOR", executor, "PROVIDER", "").Replace(credentialsManifest)
			layer := func(manifest, secret string) model.Layer {
				files, err := tree.FromFiles(map[string][]byte{"m.yaml": []byte(manifest), "s.yaml": []byte(randomSettings), "secret.yaml": []byte(secret)})
				if err != nil {
					t.Fatal(err)
				}
				return model.Layer{Kind: model.Env, Name: "dev", Files: files}
			}
			before := publishFirst(t, layer(manifest, c.before))
			m, rendered := renderAll(t, layer(strings.Replace(manifest, executor+"}", executor+c.annotation+"}", 1), c.after))
			now, _, problems := clusterfiles.FollowPrevious(m, rendered, clusterfiles.Previous{Tree: before, IsCarriedOut: func(clusterfiles.Carrier) bool { return false }})
			var files []string
			for _, e := range now.Sub("clusters/" + executor + "/fleet-m/10-credentials").Entries() {
				files = append(files, e.Name)
			}
			want := []string{c.want, "kustomization.yaml"}
			if c.want == "" {
				want = nil
			}
			slices.Sort(want)
			if !slices.Equal(files, want) {
				t.Errorf("%s: %s: the credentials are %q, want %q", executor, what, files, want)
			}
			says := golden.Problems(problems)
			if problems.Stops() || strings.Contains(says, "stays on the management cluster") != (c.warning != "") || !strings.Contains(says, c.warning) {
				t.Errorf("%s: %s: want %q, got the problems\n%s", executor, what, c.warning, says)
			}
		}
	}
}
