package stackfiles

import (
	"cmp"
	"path"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
)

// Helm uninstalls a chart when its HelmRelease is gone, and Flux does not wait for that when it
// removes one. So, in place of the HelmRelease, a Job waits until it is gone: what is destroyed after
// the chart depends on the Kustomization of the Job.

const (
	uninstallFile = "uninstall.yaml"
	releaseFile   = "helmrelease.yaml"
	// defaultWaitImage is an image whose entrypoint is kubectl.
	defaultWaitImage = "registry.k8s.io/kubectl:v1.34.1"
	// uninstallTimeout is how long a pod waits before another one does, and uninstallRetries how many
	// do: a chart that cannot be uninstalled is for people to look at.
	uninstallTimeout = "1h"
	uninstallRetries = 100
)

// waitImage returns the image of the Jobs.
func waitImage(m *model.Model) string {
	for _, s := range m.Stacks.Settings {
		return cmp.Or(s.Runner.WaitImage, defaultWaitImage)
	}
	return defaultWaitImage
}

// uninstallObjects returns the files that wait until the HelmRelease with this metadata is gone.
func uninstallObjects(meta kubeobject.Metadata, image string) map[string]any {
	meta.Annotations = nil
	off, on := false, true
	return map[string]any{
		"serviceaccount.yaml": &kubeobject.Object[struct{}]{APIVersion: "v1", Kind: "ServiceAccount", Metadata: meta},
		"role.yaml": &role{
			APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role", Metadata: meta,
			Rules: []rule{{APIGroups: []string{"helm.toolkit.fluxcd.io"}, Resources: []string{"helmreleases"}, Verbs: []string{"get", "list", "watch"}}},
		},
		"rolebinding.yaml": &roleBinding{
			APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding", Metadata: meta,
			RoleRef: roleRef{"rbac.authorization.k8s.io", "Role", meta.Name}, Subjects: []kubeobject.Reference{{Kind: "ServiceAccount", Name: meta.Name, Namespace: meta.Namespace}},
		},
		uninstallFile: &kubeobject.Object[jobSpec]{APIVersion: "batch/v1", Kind: "Job", Metadata: meta, Spec: jobSpec{
			BackoffLimit: uninstallRetries,
			Template: jobTemplate{jobPod{
				ServiceAccountName: meta.Name, RestartPolicy: "Never",
				SecurityContext: securityContext{RunAsNonRoot: &on, RunAsUser: 65532, SeccompProfile: &seccompProfile{"RuntimeDefault"}},
				Containers: []container{{
					Name: "wait", Image: image,
					Args:            []string{"wait", "--for=delete", "helmrelease.helm.toolkit.fluxcd.io/" + meta.Name, "--namespace=" + meta.Namespace, "--timeout=" + uninstallTimeout},
					SecurityContext: securityContext{AllowPrivilegeEscalation: &off, Capabilities: &capabilities{[]string{"ALL"}}},
				}},
			}},
		}},
	}
}

// uninstallImage returns the image of the Job in a folder of objects, which cannot change; "" if there
// is none.
func uninstallImage(objects tree.Tree) (string, error) {
	job, err := decodeObject[jobSpec](objects, uninstallFile)
	if err != nil || job == nil || len(job.Spec.Template.Spec.Containers) == 0 {
		return "", err
	}
	return job.Spec.Template.Spec.Containers[0].Image, nil
}

// addUninstall adds the objects that wait until a chart is uninstalled.
func (r *renderer) addUninstall(folder string, meta kubeobject.Metadata) {
	for file, o := range uninstallObjects(meta, waitImage(r.model)) {
		r.addObject(path.Join(folder, file), o)
	}
}
