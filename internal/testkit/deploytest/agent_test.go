package deploytest

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/agent"
	"github.com/fairlead-io/fairlead/internal/kube/kustomize"
	"github.com/fairlead-io/fairlead/internal/ledger/kubestatus"
)

// agentCluster is what deploy/agent puts on a cluster.
type agentCluster struct {
	namespace  corev1.Namespace
	account    corev1.ServiceAccount
	settings   corev1.ConfigMap
	role       rbacv1.ClusterRole
	binding    rbacv1.ClusterRoleBinding
	deployment appsv1.Deployment
	policy     networkingv1.NetworkPolicy
}

func buildAgent(t *testing.T) *agentCluster {
	t.Helper()
	objects, problems := kustomize.Build(files(t, "../../../deploy/agent"), "")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	c := &agentCluster{}
	into := map[string]any{
		"Namespace": &c.namespace, "ServiceAccount": &c.account, "ConfigMap": &c.settings,
		"ClusterRole": &c.role, "ClusterRoleBinding": &c.binding, "Deployment": &c.deployment, "NetworkPolicy": &c.policy,
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
	if len(into) > 0 {
		t.Fatalf("these are missing: %v", into)
	}
	return c
}

// TestAgentRights: the agent may read the kinds that it reports, and nothing else.
func TestAgentRights(t *testing.T) {
	c := buildAgent(t)
	var allowed, wanted []string
	for _, rule := range c.role.Rules {
		if !slices.Equal(rule.Verbs, []string{"get", "list"}) && !slices.Equal(rule.ResourceNames, []string{"kube-system"}) {
			t.Errorf("it may %q %q", rule.Verbs, rule.Resources)
		}
		for _, resource := range rule.Resources {
			allowed = append(allowed, resource+"."+rule.APIGroups[0])
		}
	}
	for _, kind := range kubestatus.Kinds() {
		wanted = append(wanted, kind.Resource+"."+kind.Group)
	}
	wanted = append(wanted, "namespaces.")
	slices.Sort(allowed)
	slices.Sort(wanted)
	if !slices.Equal(allowed, wanted) {
		t.Errorf("it may read %q, and reads %q", allowed, wanted)
	}
	subject := c.binding.Subjects[0]
	if c.binding.RoleRef.Name != c.role.Name || subject.Name != c.account.Name || subject.Namespace != c.account.Namespace || subject.Namespace != c.namespace.Name {
		t.Errorf("the role is bound to %+v", c.binding)
	}
}

// TestAgentPod: the pod is one that the restricted profile lets in; it has what its flags name.
func TestAgentPod(t *testing.T) {
	c := buildAgent(t)
	pod := c.deployment.Spec.Template.Spec
	container := pod.Containers[0]
	equal(t, "the security of the pod", pod.SecurityContext, `{
		"runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"}}`)
	equal(t, "the security of the container", container.SecurityContext, `{
		"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}}`)
	var help bytes.Buffer
	if code := agent.Main(t.Context(), []string{"--help"}, &help, &help); code != 0 {
		t.Fatal(help.String())
	}
	for _, arg := range container.Args {
		name, value, _ := strings.Cut(arg, "=")
		if !strings.Contains(help.String(), name+" ") {
			t.Errorf("there is no flag %s", name)
		}
		for _, m := range regexp.MustCompile(`^\$\((\w+)\)$`).FindAllStringSubmatch(value, -1) {
			if !slices.ContainsFunc(container.Env, func(e corev1.EnvVar) bool {
				return e.Name == m[1] && e.ValueFrom.ConfigMapKeyRef.Name == c.settings.Name && c.settings.Data[e.ValueFrom.ConfigMapKeyRef.Key] != ""
			}) {
				t.Errorf("%s is not set", value)
			}
		}
	}
	if !slices.Contains(container.Args, "--key-file="+container.VolumeMounts[0].MountPath+"/key") || pod.Volumes[0].Secret == nil {
		t.Errorf("the key is not where %q says", container.Args)
	}
	if container.Image != "registry.example.com/fairlead-agent:unknown" || container.LivenessProbe.HTTPGet.Path != "/healthz" {
		t.Errorf("%+v", container)
	}
}

// TestAgentImage: the image of the agent is made as that of fairlead is.
func TestAgentImage(t *testing.T) {
	text := read(t, "Dockerfile.agent")
	run := func(text string) string {
		return regexp.MustCompile(`(?m)^FROM gcr\.io/distroless/\S+$`).FindString(text)
	}
	if agent, ours := run(text), run(read(t, "Dockerfile")); agent == "" || agent != ours {
		t.Errorf("it runs on %q, want %q", agent, ours)
	}
	build := func(text string) string {
		text = text[strings.Index(text, "\nFROM "):strings.Index(text, "\n# No shell")]
		text = strings.NewReplacer("fairlead-agent", "fairlead", "internal/agent", "internal/cli", " \\\n && mkdir /out/data", "").Replace(text)
		return strings.TrimSpace(text)
	}
	if agent, ours := build(text), build(read(t, "Dockerfile")); agent != ours {
		t.Errorf("it is built otherwise:\n%s\nwant\n%s", agent, ours)
	}
	if m := stamp.FindStringSubmatch(text); m == nil || !declares(t, m[1], m[2]) {
		t.Errorf("the version is stamped as %q", m)
	}
	for _, want := range []string{"USER 65532:65532\n", "EXPOSE 8081\n", "ENTRYPOINT [\"/usr/bin/fairlead-agent\"]\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s", want)
		}
	}
}

// TestAgentNetwork: nobody connects to the agent but the kubelet of its node, which no policy keeps out.
func TestAgentNetwork(t *testing.T) {
	c := buildAgent(t)
	spec := c.policy.Spec
	if len(spec.Ingress) > 0 || len(spec.PolicyTypes) != 1 || spec.PolicyTypes[0] != networkingv1.PolicyTypeIngress {
		t.Errorf("the policy is %+v", spec)
	}
	for key, want := range spec.PodSelector.MatchLabels {
		if got := c.deployment.Spec.Template.Labels[key]; got != want {
			t.Errorf("the policy selects %s=%s, and the pod has %q", key, want, got)
		}
	}
	if len(spec.PodSelector.MatchLabels) == 0 || c.policy.Namespace != c.deployment.Namespace {
		t.Errorf("the policy is of %q in %q", spec.PodSelector.MatchLabels, c.policy.Namespace)
	}
}
