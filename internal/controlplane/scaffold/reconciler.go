package scaffold

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

type reconciler struct {
	name string
	tool string // on the clusters
	// manifests are the sample workload's.
	manifests []manifestKey
	// configType is the matching format of platform values.
	configType string
}

type manifestKey struct{ Key, Value string }

var (
	fromGit = []manifestKey{{"repo", "https://github.com/stefanprodan/podinfo"}, {"branch", "master"}, {"path", "./kustomize"}}

	reconcilers = []reconciler{
		{"flux", "Flux", fromGit, "configmap"},
		{"flux-oci", "Flux", []manifestKey{{"url", "oci://ghcr.io/stefanprodan/manifests/podinfo"}, {"tag", "latest"}, {"path", "./"}}, "configmap"},
		{"flux-helm", "Flux", []manifestKey{{"repo", "https://stefanprodan.github.io/podinfo"}, {"chart", "podinfo"}, {"version", "6.9.0"}}, "helm-values"},
		{"tofu", "Flux", []manifestKey{{"repo", "https://github.com/cloudposse/terraform-null-label"}, {"tag", "0.25.0"}, {"module", "./"}, {"approve", "auto"}}, "configmap"},
		{"argocd", "Argo CD", fromGit, "configmap"},
		{"rancher-fleet", "Fleet", fromGit, "configmap"},
		{"zarf", "Zarf", fromGit, "configmap"},
	}
)

// Reconcilers returns the names of the built-in reconcilers.
func Reconcilers() []string {
	var names []string
	for _, r := range reconcilers {
		names = append(names, r.name)
	}
	return names
}

func findReconciler(name string) (found reconciler, ok bool) {
	i := slices.IndexFunc(reconcilers, func(r reconciler) bool { return r.name == name })
	if i < 0 {
		return found, false
	}
	return reconcilers[i], true
}

func checkReconciler(l *problem.List, name string) {
	if _, ok := findReconciler(name); !ok && name != "" {
		l.Addf(problem.Pos{}, "", problem.DidYouMean(name, Reconcilers()), "there is no built-in reconciler %q", name)
	}
}

func (p page) reconcilerOf(clusterType string) reconciler {
	name := p.Options.Reconciler
	if name == "" {
		name = map[string]string{"cloud": "flux", "edge": "argocd"}[clusterType]
	}
	found, _ := findReconciler(name)
	return found
}

func (p page) Reconciler(clusterType string) string { return p.reconcilerOf(clusterType).name }

func (p page) Tool(clusterType string) string { return p.reconcilerOf(clusterType).tool }

func (p page) ConfigType(clusterType string) string { return p.reconcilerOf(clusterType).configType }

// Manifests returns the sample workload's manifests, valid for all cluster types.
func (p page) Manifests() []manifestKey { return p.reconcilerOf("cloud").manifests }
