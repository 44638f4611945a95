package deploytest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the schema of the settings in that of the chart")

const (
	chart       = "../../../deploy/charts/fairlead"
	agentChart  = "../../../deploy/charts/fairlead-agent"
	agentValues = "{server: https://fairlead.example.com, name: east-1}"
)

// chartObjects are the objects of a chart, by kind; each is decoded as strictly as an API server does that is asked to.
type chartObjects map[string]any

// helmAnswer is what the program in testdata/helm prints.
type helmAnswer struct {
	Files map[string]string
	Error string
	Lint  []string
}

// askHelm renders a chart with Helm's own engine. Without the modules that it is made of, the test is skipped, or fails if FAIRLEAD_HELM
// is "require".
func askHelm(t *testing.T, dir, release, values string) helmAnswer {
	t.Helper()
	chart, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "go", "run", "-C", "testdata/helm", ".", chart, release, values)
	c.Env = append(os.Environ(), "GOWORK=off")
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil && os.Getenv("FAIRLEAD_HELM") != "require" {
		t.Skipf("there is no Helm to test with: %v: %s", err, &said)
	}
	var a helmAnswer
	if err == nil {
		err = json.Unmarshal(out, &a)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	return a
}

// renderChart returns what a chart gives.
func renderChart(t *testing.T, dir, release, values string) chartObjects {
	t.Helper()
	a := askHelm(t, dir, release, values)
	if a.Error != "" {
		t.Fatal(a.Error)
	}
	objects := chartObjects{}
	for name, text := range a.Files {
		if strings.HasSuffix(name, ".txt") {
			continue
		}
		for document := range strings.SplitSeq(text, "\n---\n") {
			objects.add(t, name, document)
		}
	}
	return objects
}

func (c chartObjects) add(t *testing.T, file, document string) {
	t.Helper()
	var head struct{ Kind string }
	if err := yaml.Unmarshal([]byte(document), &head); err != nil {
		t.Fatalf("%s: %v\n%s", file, err, document)
	}
	if head.Kind == "" {
		return
	}
	types := map[string]any{
		"ServiceAccount": &corev1.ServiceAccount{}, "ConfigMap": &corev1.ConfigMap{}, "Deployment": &appsv1.Deployment{}, "Service": &corev1.Service{},
		"NetworkPolicy": &networkingv1.NetworkPolicy{}, "Ingress": &networkingv1.Ingress{}, "PersistentVolumeClaim": &corev1.PersistentVolumeClaim{},
		"PodDisruptionBudget": &policyv1.PodDisruptionBudget{}, "Role": &rbacv1.Role{}, "RoleBinding": &rbacv1.RoleBinding{}, "ClusterRole": &rbacv1.ClusterRole{}, "ClusterRoleBinding": &rbacv1.ClusterRoleBinding{},
		"ServiceMonitor": &map[string]any{}, "ExternalSecret": &map[string]any{},
	}
	into, known := types[head.Kind]
	if !known || c[head.Kind] != nil {
		t.Fatalf("%s: there is a second %s, or one that is not looked at", file, head.Kind)
	}
	if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
		t.Fatalf("%s: %v\n%s", file, err, document)
	}
	c[head.Kind] = into
}

// withoutNames returns an object as JSON without what a release and a kustomization name each in their way: labels, what selects by
// them, namespaces, annotations, and the policy for pulling images.
func withoutNames(t *testing.T, object any) any {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	return stripNames(tree)
}

func stripNames(node any) any {
	switch n := node.(type) {
	case map[string]any:
		for _, key := range []string{"labels", "annotations", "namespace", "status", "creationTimestamp", "imagePullPolicy"} {
			delete(n, key)
		}
		for key, value := range n {
			if n[key] = stripNames(value); key == "selector" || key == "podSelector" && len(value.(map[string]any)) > 0 {
				delete(n, key)
			}
		}
	case []any:
		for i := range n {
			n[i] = stripNames(n[i])
		}
	}
	return node
}

// TestChartIsKustomization: the chart gives what the kustomization gives, which other tests look at.
func TestChartIsKustomization(t *testing.T) {
	of, got := build(t), renderChart(t, chart, "fairlead", "")
	of.deployment.Spec.Template.Spec.Volumes[0].ConfigMap.Name = "fairlead" // without a hash
	of.service.Spec.Type = corev1.ServiceTypeClusterIP                      // which it is without saying so
	for kind, want := range map[string]any{"ServiceAccount": of.account, "Deployment": of.deployment, "Service": of.service, "NetworkPolicy": of.policy} {
		if diff := cmp.Diff(withoutNames(t, want), withoutNames(t, got[kind])); diff != "" {
			t.Errorf("%s (-kustomization +chart):\n%s", kind, diff)
		}
	}
	var want, settings any
	for text, into := range map[string]*any{of.settings.Data["fairlead.yaml"]: &want, got["ConfigMap"].(*corev1.ConfigMap).Data["fairlead.yaml"]: &settings} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, settings); diff != "" || len(got) != 5 {
		t.Errorf("of %d objects, the settings are (-kustomization +chart):\n%s", len(got), diff)
	}

	agent, got := buildAgent(t), renderChart(t, agentChart, "fairlead-agent", agentValues)
	env := agent.deployment.Spec.Template.Spec.Containers[0].Env
	env[0], env[1] = corev1.EnvVar{Name: "SERVER", Value: "https://fairlead.example.com"}, corev1.EnvVar{Name: "NAME", Value: "east-1"}
	for kind, want := range map[string]any{"ServiceAccount": agent.account, "Deployment": agent.deployment, "ClusterRole": agent.role, "ClusterRoleBinding": agent.binding, "NetworkPolicy": agent.policy} {
		if diff := cmp.Diff(withoutNames(t, want), withoutNames(t, got[kind])); diff != "" {
			t.Errorf("%s of the agent (-kustomization +chart):\n%s", kind, diff)
		}
	}
	if subject := got["ClusterRoleBinding"].(*rbacv1.ClusterRoleBinding).Subjects[0]; subject.Namespace != "fairlead-agent" || len(got) != 5 {
		t.Errorf("of %d objects, the role is bound to %+v", len(got), subject)
	}
}

// TestChartValues: each value arrives where it is meant to.
func TestChartValues(t *testing.T) {
	got := renderChart(t, chart, "acme", `
image: {repository: ghcr.io/x, tag: v1, digest: "sha256:`+strings.Repeat("0", 64)+`"}
imagePullSecrets: [{name: pull}]
settings: {hosts: [fairlead.acme.example], write: true}
secret: {name: kept, externalSecret: {enabled: true, secretStoreRef: {kind: ClusterSecretStore, name: vault}, dataFrom: [{extract: {key: fairlead}}]}}
persistence: {enabled: true, storageClassName: fast, size: 20Gi}
serviceAccount: {create: false}
service: {type: LoadBalancer, port: 80}
ingress: {enabled: true, className: nginx, hosts: [fairlead.acme.example, fairlead.example.com], tls: [{hosts: [fairlead.example.com], secretName: tls}]}
networkPolicy: {from: []}
podDisruptionBudget: {enabled: true}
serviceMonitor: {enabled: true, labels: {release: prometheus}}
env: [{name: HTTPS_PROXY, value: "http://proxy:3128"}]
podLabels: {team: platform}
podAnnotations: {a: b}
nodeSelector: {disk: ssd}
tolerations: [{key: k, operator: Exists}]
priorityClassName: high
`)
	pod := got["Deployment"].(*appsv1.Deployment).Spec.Template
	equal(t, "the image", []string{pod.Spec.Containers[0].Image, pod.Spec.ImagePullSecrets[0].Name}, `["ghcr.io/x:v1@sha256:`+strings.Repeat("0", 64)+`", "pull"]`)
	equal(t, "volumes", pod.Spec.Volumes, `[
		{"name": "settings", "configMap": {"name": "acme-fairlead"}},
		{"name": "secrets", "secret": {"secretName": "kept", "defaultMode": 288}},
		{"name": "data", "persistentVolumeClaim": {"claimName": "acme-fairlead"}}]`)
	equal(t, "env", pod.Spec.Containers[0].Env, `[{"name": "GOMEMLIMIT", "value": "900MiB"}, {"name": "HTTPS_PROXY", "value": "http://proxy:3128"}]`)
	equal(t, "where the pod runs", []any{pod.Spec.NodeSelector, pod.Spec.Tolerations, pod.Spec.PriorityClassName, pod.Spec.ServiceAccountName, pod.Labels["team"], pod.Annotations["a"]},
		`[{"disk": "ssd"}, [{"key": "k", "operator": "Exists"}], "high", "default", "platform", "b"]`)
	equal(t, "the claim", got["PersistentVolumeClaim"].(*corev1.PersistentVolumeClaim).Spec, `{"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": "20Gi"}}}`)
	ingress := got["Ingress"].(*networkingv1.Ingress).Spec
	equal(t, "the Ingress", []any{ingress.IngressClassName, ingress.Rules[1].Host, ingress.Rules[0].HTTP.Paths[0].Backend, ingress.TLS},
		`["nginx", "fairlead.example.com", {"service": {"name": "acme-fairlead", "port": {"name": "http"}}}, [{"hosts": ["fairlead.example.com"], "secretName": "tls"}]]`)
	equal(t, "what the policy lets in", got["NetworkPolicy"].(*networkingv1.NetworkPolicy).Spec.Ingress[0].From, `[{"podSelector": {}}]`)
	service := got["Service"].(*corev1.Service)
	equal(t, "the service", []any{service.Spec.Type, service.Spec.Ports}, `["LoadBalancer", [{"name": "http", "port": 80, "targetPort": "http"}]]`)
	monitor := *got["ServiceMonitor"].(*map[string]any)
	equal(t, "what is monitored", monitor["spec"], `{"selector": {"matchLabels": {"app.kubernetes.io/name": "fairlead", "app.kubernetes.io/instance": "acme"}}, "endpoints": [{"port": "http", "interval": "30s"}]}`)
	equal(t, "the disruption budget", got["PodDisruptionBudget"].(*policyv1.PodDisruptionBudget).Spec, `{"maxUnavailable": 1, "selector": {"matchLabels": {"app.kubernetes.io/name": "fairlead", "app.kubernetes.io/instance": "acme"}}}`)
	external := *got["ExternalSecret"].(*map[string]any)
	equal(t, "the external secret", external["spec"], `{"refreshInterval": "1h", "secretStoreRef": {"kind": "ClusterSecretStore", "name": "vault"}, "target": {"name": "kept"}, "dataFrom": [{"extract": {"key": "fairlead"}}]}`)
	if got["ServiceAccount"] != nil {
		t.Error("an account is made")
	}
	for what, labels := range map[string]map[string]string{"the service": service.Spec.Selector, "the deployment": got["Deployment"].(*appsv1.Deployment).Spec.Selector.MatchLabels} {
		for name, value := range labels {
			if pod.Labels[name] != value {
				t.Errorf("%s selects %s=%s, and the pod has %v", what, name, value, pod.Labels)
			}
		}
	}

	s, problems := parse(t, got["ConfigMap"].(*corev1.ConfigMap).Data["fairlead.yaml"], "/etc/fairlead-secrets", 0o400)
	if want := []string{"fairlead.acme.example", "fairlead.example.com"}; !slices.Equal(s.Hosts, want) || !s.Write || len(problems) > 0 {
		t.Errorf("the settings have the hosts %q, and these problems: %q", s.Hosts, problems)
	}
	own := renderChart(t, chart, "fairlead", "{existingConfigMap: mine, networkPolicy: {enabled: false}, persistence: {enabled: true, existingClaim: mine}}")
	if own["ConfigMap"] != nil || own["NetworkPolicy"] != nil || own["PersistentVolumeClaim"] != nil {
		t.Errorf("there are %v", own)
	}
}

const replicaSettings = "{ledger: {secret: {env: SECRET}, postgres: {url: {env: LEDGER}}}, replicas: {by: leases}}"

// TestChartReplicas: several replicas may have their Leases, and do not stop at once.
func TestChartReplicas(t *testing.T) {
	got := renderChart(t, chart, "acme", "{replicas: 3, settings: "+replicaSettings+"}")
	spec := got["Deployment"].(*appsv1.Deployment).Spec
	equal(t, "the deployment", []any{spec.Replicas, spec.Strategy, spec.Template.Spec.AutomountServiceAccountToken},
		`[3, {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}}, true]`)
	equal(t, "the role", got["Role"].(*rbacv1.Role).Rules, `[{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "list", "create", "update", "delete"]}]`)
	equal(t, "the binding", got["RoleBinding"].(*rbacv1.RoleBinding).Subjects[0].Name, `"acme-fairlead"`)
	if got["PodDisruptionBudget"] == nil {
		t.Error("there is no disruption budget")
	}
	locks := renderChart(t, chart, "acme", "{replicas: 3, settings: "+strings.Replace(replicaSettings, "leases", "postgres", 1)+"}")
	if locks["Role"] != nil || *locks["Deployment"].(*appsv1.Deployment).Spec.Template.Spec.AutomountServiceAccountToken {
		t.Error("replicas that meet in PostgreSQL have an account with rights")
	}
}

// TestChartRollsSettings: other settings are another pod, the same ones are not.
func TestChartRollsSettings(t *testing.T) {
	checksum := func(values string) string {
		return renderChart(t, chart, "fairlead", values)["Deployment"].(*appsv1.Deployment).Spec.Template.Annotations["checksum/settings"]
	}
	if first := checksum(""); first == "" || first != checksum("") || first == checksum("settings: {write: true}") {
		t.Errorf("the checksum is %q", first)
	}
}

// TestChartRefuses: values that would not work are refused before anything is installed.
func TestChartRefuses(t *testing.T) {
	for _, c := range []struct{ dir, values, want string }{
		{chart, "replicas: 0", "replicas"},
		{chart, "replicas: 2", "settings.replicas"},
		{chart, "{replicas: 2, settings: {replicas: {by: leases}}}", "settings.ledger.postgres"},
		{chart, "{replicas: 2, persistence: {enabled: true}, settings: " + replicaSettings + "}", "persistence"},
		{chart, "settings: {controlPlain: {repo: x}}", "controlPlain"},
		{chart, "settings: {listen: \":8081\"}", "settings.listen"},
		{chart, "settings: {dataDir: /data}", "settings.dataDir"},
		{chart, "ingress: {enabled: true}", "hosts"},
		{chart, "image: {digest: latest}", "digest"},
		{agentChart, "name: east-1", "server"},
		{agentChart, "{server: https://fairlead.example.com, name: East_1}", "name"},
	} {
		if a := askHelm(t, c.dir, "fairlead", c.values); !strings.Contains(a.Error, c.want) {
			t.Errorf("%s: %q", c.values, a.Error)
		}
	}
}

// TestChartLint: "helm lint" finds nothing.
func TestChartLint(t *testing.T) {
	for dir, values := range map[string]string{chart: "", agentChart: agentValues} {
		if found := askHelm(t, dir, "fairlead", values).Lint; len(found) > 0 {
			t.Errorf("%s: %q", dir, found)
		}
	}
}

// TestChartSchema: the schema of the values has the schema of the settings.
func TestChartSchema(t *testing.T) {
	var settings, values map[string]any
	file := filepath.Join(chart, "values.schema.json")
	for name, into := range map[string]*map[string]any{"../../config/settings.json": &settings, file: &values} {
		data, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	definitions := settings["definitions"]
	for _, key := range []string{"definitions", "$schema", "$id"} {
		delete(settings, key)
	}
	properties := values["properties"].(map[string]any)
	if diff := cmp.Diff(settings, properties["settings"]) + cmp.Diff(definitions, values["definitions"]); diff != "" && !*update {
		t.Errorf("go test ./internal/testkit/deploytest -run TestChartSchema -update mends this (-settings.json +values.schema.json):\n%s", diff)
	}
	if !*update {
		return
	}
	properties["settings"], values["definitions"] = settings, definitions
	data, err := json.MarshalIndent(values, "", "  ")
	if err == nil {
		err = os.WriteFile(file, append(data, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
