package deploytest

import (
	"encoding/json"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/kustomize"
)

// cluster is what the kustomization gives.
type cluster struct {
	namespace  corev1.Namespace
	account    corev1.ServiceAccount
	settings   corev1.ConfigMap
	deployment appsv1.Deployment
	service    corev1.Service
	policy     networkingv1.NetworkPolicy
}

// build builds deploy/kubernetes, and decodes it as strictly as an API server that
// is asked to.
func build(t *testing.T) *cluster {
	t.Helper()
	objects, problems := kustomize.Build(files(t, "../../../deploy/kubernetes"), "")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	c := &cluster{}
	into := map[string]any{
		"Namespace": &c.namespace, "ServiceAccount": &c.account, "ConfigMap": &c.settings,
		"Deployment": &c.deployment, "Service": &c.service, "NetworkPolicy": &c.policy,
	}
	for _, o := range objects {
		var head struct{ Kind string }
		if err := yaml.Unmarshal(o.YAML, &head); err != nil {
			t.Fatal(err)
		}
		target, ok := into[head.Kind]
		if !ok {
			t.Fatalf("there is a second %s, or one that is not looked at", head.Kind)
		}
		if err := yaml.UnmarshalStrict(o.YAML, target); err != nil {
			t.Fatalf("%s: %v", o.File, err)
		}
		delete(into, head.Kind)
	}
	for kind := range into {
		t.Errorf("there is no %s", kind)
	}
	if t.Failed() {
		t.FailNow()
	}
	return c
}

func files(t *testing.T, dir string) tree.Tree {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string][]byte{}
	for _, e := range entries {
		if contents[e.Name()], err = os.ReadFile(path.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	all, err := tree.FromFiles(contents)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// equal compares JSON, in which pointers are what they point to.
func equal(t *testing.T, what string, got any, want string) {
	t.Helper()
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var g, w any
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestRestricted: the pod is one that the restricted profile lets in, and more.
func TestRestricted(t *testing.T) {
	c := build(t)
	pod := c.deployment.Spec.Template.Spec
	equal(t, "the labels of the namespace", c.namespace.Labels, `{
		"app.kubernetes.io/name": "fairlead",
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted"}`)
	equal(t, "the security of the pod", pod.SecurityContext, `{
		"runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532,
		"fsGroup": 65532, "fsGroupChangePolicy": "OnRootMismatch", "seccompProfile": {"type": "RuntimeDefault"}}`)
	equal(t, "whether a token is mounted", []*bool{c.account.AutomountServiceAccountToken, pod.AutomountServiceAccountToken}, `[false, false]`)
	if pod.HostNetwork || pod.HostPID || pod.HostIPC || len(pod.InitContainers)+len(pod.EphemeralContainers) > 0 || len(pod.Containers) != 1 {
		t.Fatal("want one container, and nothing of the host")
	}
	equal(t, "the security of the container", pod.Containers[0].SecurityContext, `{
		"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}}`)
	for _, v := range pod.Volumes {
		if v.ConfigMap == nil && v.Secret == nil && v.EmptyDir == nil {
			t.Errorf("the volume %s is of a kind that was not thought of", v.Name)
		}
	}
}

// TestOneProcess: never two of them on one data folder, and the one has time to end.
func TestOneProcess(t *testing.T) {
	d := build(t).deployment.Spec
	equal(t, "replicas", d.Replicas, "1")
	equal(t, "strategy", d.Strategy, `{"type": "Recreate"}`)
	equal(t, "the time to end", d.Template.Spec.TerminationGracePeriodSeconds, "60")
}

// TestWired: what names something else names what is there.
func TestWired(t *testing.T) {
	c := build(t)
	pod := c.deployment.Spec.Template
	container := pod.Spec.Containers[0]
	checkServe(t, container.Args)
	if len(container.Command) > 0 {
		t.Errorf("it replaces the entry point of the image with %q", container.Command)
	}
	equal(t, "ports", container.Ports, `[{"name": "http", "containerPort": 8080}]`)
	equal(t, "probes", []any{container.LivenessProbe.HTTPGet, container.ReadinessProbe.HTTPGet},
		`[{"path": "/healthz", "port": "http"}, {"path": "/readyz", "port": "http"}]`)
	equal(t, "the service", c.service.Spec.Ports, `[{"name": "http", "port": 8080, "targetPort": "http"}]`)
	if !c.service.Spec.PublishNotReadyAddresses {
		t.Error("the service hides a pod that is not ready, whose status would say why")
	}
	equal(t, "what the policy lets in", c.policy.Spec, `{
		"podSelector": {"matchLabels": {"app.kubernetes.io/name": "fairlead"}},
		"policyTypes": ["Ingress"],
		"ingress": [{
			"from": [{"podSelector": {}}, {"namespaceSelector": {"matchLabels": {"fairlead.io/reads-status": "true"}}}],
			"ports": [{"protocol": "TCP", "port": "http"}]}]}`)
	for what, got := range map[string]map[string]string{
		"the pod": pod.Labels, "the deployment": c.deployment.Spec.Selector.MatchLabels, "the service": c.service.Spec.Selector,
	} {
		if want := map[string]string{"app.kubernetes.io/name": "fairlead"}; !cmp.Equal(want, got) {
			t.Errorf("%s has the labels %v, want %v", what, got, want)
		}
	}
	if pod.Spec.ServiceAccountName != c.account.Name {
		t.Errorf("the pod is of the account %q, which is called %q", pod.Spec.ServiceAccountName, c.account.Name)
	}
	for _, namespace := range []string{c.account.Namespace, c.settings.Namespace, c.deployment.Namespace, c.service.Namespace, c.policy.Namespace} {
		if namespace != c.namespace.Name {
			t.Errorf("something is in the namespace %q, which is called %q", namespace, c.namespace.Name)
		}
	}
	if !strings.HasPrefix(c.settings.Name, "fairlead-") {
		t.Errorf("the settings are called %s: without a hash, a change does not start a new pod", c.settings.Name)
	}
}

// TestSettings: the settings of the ConfigMap are good where the pod has its volumes.
func TestSettings(t *testing.T) {
	c := build(t)
	mounts := map[string]string{}
	pod := c.deployment.Spec.Template.Spec
	for _, m := range pod.Containers[0].VolumeMounts {
		if mounts[m.Name] = m.MountPath; m.SubPath != "" {
			t.Errorf("%s is mounted by subPath, and would not change without a restart", m.Name)
		}
	}
	want := map[string]string{"settings": path.Dir(settings), "secrets": "/etc/fairlead-secrets", "data": dataDir}
	if diff := cmp.Diff(want, mounts); diff != "" {
		t.Fatalf("mounts (-want +got):\n%s", diff)
	}
	equal(t, "volumes", pod.Volumes, `[
		{"name": "settings", "configMap": {"name": "`+c.settings.Name+`"}},
		{"name": "secrets", "secret": {"secretName": "fairlead", "defaultMode": 288}},
		{"name": "data", "emptyDir": {"sizeLimit": "10Gi"}}]`)

	s, problems := parse(t, c.settings.Data[path.Base(settings)], mounts["secrets"], os.FileMode(*pod.Volumes[1].Secret.DefaultMode))
	// docs/reference/settings.md says that this one is normal in Kubernetes.
	warning := []string{"/etc/fairlead-secrets/token can be read by others than its owner (mode 0440)"}
	if diff := cmp.Diff(warning, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if s.DataDir != mounts["data"] || s.Listen != ":8080" || s.Log.Format != "json" {
		t.Errorf("data in %s, listens on %s, logs %s", s.DataDir, s.Listen, s.Log.Format)
	}
	if s.Write {
		t.Error("a fresh install writes")
	}
	if r, ok := s.Remote(s.ControlPlane.Repo); !ok || r.Token == nil {
		t.Error("the token is not for the control plane")
	}
}

// TestMemory: Go's own limit leaves a tenth for what it does not count.
func TestMemory(t *testing.T) {
	c := build(t).deployment.Spec.Template.Spec.Containers[0]
	equal(t, "environment", c.Env, `[{"name": "GOMEMLIMIT", "value": "900MiB"}]`)
	const mebi = 1 << 20
	if limit := c.Resources.Limits.Memory().Value(); limit < 900*mebi*11/10 {
		t.Errorf("the limit of %d MiB is too near to GOMEMLIMIT", limit/mebi)
	}
	if r := c.Resources.Requests; r.Cpu().IsZero() || r.Memory().IsZero() || r.StorageEphemeral().IsZero() {
		t.Errorf("it does not ask for all that it needs: %v", r)
	}
	if !c.Resources.Limits.Cpu().IsZero() {
		t.Error("a limit of CPU makes a cycle slower and nobody else faster")
	}
}
