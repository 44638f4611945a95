package stackfiles

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
)

// Helm uninstalls a chart when its HelmRelease is gone, and Flux does not wait for that when it
// removes one. So, in place of the HelmRelease, a Job waits until it is gone: what is destroyed after
// the chart depends on the Kustomization of the Job.

// WaitFile is the file of a component with such a Job.
const WaitFile = "uninstall.yaml"

const (
	releaseFile = "helmrelease.yaml"
	// defaultWaitImage is an image whose entrypoint is kubectl.
	defaultWaitImage = "registry.k8s.io/kubectl:v1.34.1"
	// uninstallTimeout is how long a pod waits before another one does, and uninstallRetries how many
	// do: a chart that cannot be uninstalled is for people to look at.
	uninstallTimeout = "1h"
	uninstallRetries = 100
)

func waitImage(m *model.Model) string {
	for _, s := range m.Stacks.Settings {
		return cmp.Or(s.Runner.WaitImage, defaultWaitImage)
	}
	return defaultWaitImage
}

// uninstalledKinds are the kinds whose objects take down what they have deployed, and their resources.
var uninstalledKinds = map[string]struct{ group, resource string }{
	releaseKind: {"helm.toolkit.fluxcd.io", "helmreleases"}, appKind: {"kustomize.toolkit.fluxcd.io", "kustomizations"}, terraformKind: {"infra.contrib.fluxcd.io", "terraforms"},
}

// uninstallObjects returns the files that wait until objects are gone: HelmReleases, Kustomizations, Terraform.
// Their names are that of the component, or begin with it.
func uninstallObjects(meta kubeobject.Metadata, image string, gone []kubeobject.Reference) map[string]any {
	meta.Annotations = nil
	off, on := false, true
	var rules []rule
	var containers []container
	for i, o := range gone {
		kind, name := uninstalledKinds[o.Kind], "wait"
		if i > 0 {
			name = fmt.Sprintf("wait-%d", i+1)
		}
		if !slices.ContainsFunc(rules, func(r rule) bool { return r.Resources[0] == kind.resource }) {
			rules = append(rules, rule{APIGroups: []string{kind.group}, Resources: []string{kind.resource}, Verbs: []string{"get", "list", "watch"}})
		}
		containers = append(containers, container{
			Name: name, Image: image,
			Args:            []string{"wait", "--for=delete", strings.ToLower(o.Kind) + "." + kind.group + "/" + o.Name, "--namespace=" + meta.Namespace, "--timeout=" + uninstallTimeout},
			SecurityContext: securityContext{AllowPrivilegeEscalation: &off, Capabilities: &capabilities{[]string{"ALL"}}},
		})
	}
	job := meta
	job.Annotations = map[string]string{"kustomize.toolkit.fluxcd.io/force": "enabled"} // a Job cannot change
	return map[string]any{
		"serviceaccount.yaml": &kubeobject.Object[struct{}]{APIVersion: "v1", Kind: "ServiceAccount", Metadata: meta},
		"role.yaml": &role{
			APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role", Metadata: meta,
			Rules: rules,
		},
		"rolebinding.yaml": &roleBinding{
			APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding", Metadata: meta,
			RoleRef: roleRef{"rbac.authorization.k8s.io", "Role", meta.Name}, Subjects: []kubeobject.Reference{{Kind: "ServiceAccount", Name: meta.Name, Namespace: meta.Namespace}},
		},
		WaitFile: &kubeobject.Object[jobSpec]{APIVersion: "batch/v1", Kind: "Job", Metadata: job, Spec: jobSpec{
			BackoffLimit: uninstallRetries,
			Template: jobTemplate{jobPod{
				ServiceAccountName: meta.Name, RestartPolicy: "Never",
				SecurityContext: securityContext{RunAsNonRoot: &on, RunAsUser: 65532, SeccompProfile: &seccompProfile{"RuntimeDefault"}},
				Containers:      containers,
			}},
		}},
	}
}

// updateWait returns the objects of a component that is uninstalled, with a Job that waits with the image of the
// settings.
func (c *renderedComponent) updateWait(m *model.Model) (tree.Tree, error) {
	job, err := decodeObject[jobSpec](c.objects, WaitFile)
	if err != nil || len(m.Stacks.Settings) == 0 {
		return c.objects, err
	}
	for i := range job.Spec.Template.Spec.Containers {
		job.Spec.Template.Spec.Containers[i].Image = waitImage(m)
	}
	objects, _, err := c.changeObjects("", map[string]any{WaitFile: job})
	return objects, err
}

// TerraformWait returns the files of a Job, in the namespace of a Terraform object, that waits until that object
// is gone.
func TerraformWait(m *model.Model, meta kubeobject.Metadata, terraform string) map[string]any {
	return uninstallObjects(meta, waitImage(m), []kubeobject.Reference{{Kind: terraformKind, Name: terraform}})
}

func (r *renderer) addUninstall(folder string, meta kubeobject.Metadata, gone []kubeobject.Reference) {
	for file, o := range uninstallObjects(meta, waitImage(r.model), gone) {
		r.addObject(path.Join(folder, file), o)
	}
}
