package impact

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/change/inside"
)

// rule classifies changes that meet all its conditions. Empty conditions match
// everything.
type rule struct {
	class Class
	// alone is the name of a group with only this class; "" for the class itself.
	alone string
	risk  Risk
	op    operation
	// kinds are kinds of objects or names of files, separated by spaces; they may have
	// one "*".
	kinds string
	// fields are patterns of paths (matchPath), separated by spaces.
	fields string
	when   func(change) bool
	// elsewhere is set if the content is in a chart, an artifact or another repository.
	elsewhere bool
}

const (
	workloadKinds = "Deployment StatefulSet DaemonSet ReplicaSet Pod Job CronJob"
	sourceKinds   = "GitRepository OCIRepository HelmRepository Bucket HelmChart"
	fluxKinds     = "Kustomization HelmRelease Terraform"
	argoKinds     = "Application ApplicationSet"
	valueFiles    = "platform-config.* values.* *.tfvars"
)

// rules is the table: the first matching row decides, and the rows order a group's
// classes. signer.writeSurroundings must write all that a condition reads outside of
// the changed lines.
var rules = []rule{
	// Destruction by Terraform.
	{class: InfrastructureDestroyed, risk: Deletes, op: removed, kinds: "Terraform", when: destroysOnDeletion},
	{class: InfrastructureDestroyed, risk: Deletes, op: renamed, kinds: "Terraform", when: destroysOnDeletion},
	{class: InfrastructureDestroyed, risk: Deletes, kinds: "Terraform", fields: "spec.destroy", when: isSwitchedOn},
	{class: DestructionApproved, risk: Deletes, kinds: "Terraform", fields: "spec.approvePlan", when: approvesDestruction},
	{class: DestroyedOnRemoval, alone: "destroyed on removal only", kinds: "Terraform", fields: "spec.destroyResourcesOnDeletion", when: isSwitchedOn},
	{class: "kept on removal", alone: "kept on removal only", kinds: "Terraform", fields: "spec.destroyResourcesOnDeletion"},

	// Whole objects.
	{class: hookClass, op: removed, when: isHook},
	{class: hookClass, op: renamed, when: isHook},
	{class: hookClass, op: added, when: isHook},
	{class: hookClass, when: isHook},
	{class: CRDRemoved, risk: Deletes, op: removed, kinds: "CustomResourceDefinition"},
	{class: CRDRemoved, risk: Deletes, op: renamed, kinds: "CustomResourceDefinition"},
	{class: ClusterTypeRemoved, risk: Deletes, when: neverMatches},
	{class: AssignmentRemoved, risk: Deletes, when: neverMatches},
	{class: AssignmentMoved, risk: Deletes, when: neverMatches},
	{class: StackRemoved, when: neverMatches},
	{class: ComponentRemovedClass, risk: Deletes, when: neverMatches},
	{class: ComponentClearedClass, when: neverMatches},
	{class: NamespaceRemoved, risk: Deletes, op: removed, kinds: "Namespace"},
	{class: NamespaceRenamed, risk: Deletes, op: renamed, kinds: "Namespace"},
	{class: "object removed", risk: Deletes, op: removed},
	{class: "object renamed", risk: Deletes, op: renamed},
	{class: ClusterTypeAdded, when: neverMatches},
	{class: AssignmentAdded, when: neverMatches},
	{class: StackAdded, when: neverMatches},
	{class: ComponentAddedClass, when: neverMatches},
	{class: "namespace added", op: added, kinds: "Namespace"},
	{class: "object added", op: added},

	// Sources and destinations.
	{class: "destination moved", risk: Deletes, kinds: fluxKinds, fields: "spec.targetNamespace spec.storageNamespace spec.releaseName spec.kubeConfig.**"},
	{class: "destination moved", risk: Deletes, kinds: argoKinds + " GitRepo", fields: "**.destination.** spec.targets.** spec.targetNamespace"},
	{class: "destination moved", risk: Deletes, kinds: "fleet.yaml", fields: "namespace defaultNamespace targetCustomizations.**"},
	{class: "destruction ended", alone: "destruction ended only", kinds: "Terraform", fields: "spec.destroy"},
	{class: "plan approval", alone: "plan approval only", kinds: "Terraform", fields: "spec.approvePlan"},
	{class: "pruning switched on", risk: Deletes, kinds: fluxKinds + " " + argoKinds, fields: "spec.prune **.syncPolicy.automated.prune", when: isSwitchedOn},
	{class: "pruning switched off", kinds: fluxKinds + " " + argoKinds, fields: "spec.prune **.syncPolicy.automated.prune"},
	{elsewhere: true, class: "source moved with pruning", risk: Deletes, kinds: sourceKinds, fields: "spec.url spec.endpoint spec.bucketName spec.chart spec.sourceRef.**", when: isPruned},
	{elsewhere: true, class: "source moved with pruning", risk: Deletes, kinds: fluxKinds + " " + argoKinds, fields: sourceFields, when: isPruned},
	{elsewhere: true, class: "source moved", kinds: sourceKinds, fields: "spec.url spec.endpoint spec.bucketName spec.chart spec.sourceRef.**"},
	{elsewhere: true, class: "source moved", kinds: fluxKinds + " " + argoKinds, fields: sourceFields},
	{elsewhere: true, class: "source moved", kinds: "GitRepo fleet.yaml", fields: "spec.repo spec.paths.** helm.repo helm.chart"},
	{elsewhere: true, class: "chart version", alone: "chart version only", kinds: "HelmRelease HelmChart", fields: "spec.chart.spec.version spec.version"},
	{elsewhere: true, class: "chart version", alone: "chart version only", kinds: "fleet.yaml Kustomization", fields: "helm.version helmCharts.[].version"},
	{elsewhere: true, class: "chart version", alone: "chart version only", kinds: argoKinds, fields: "**.targetRevision", when: isBesideChart},
	{elsewhere: true, class: "source revision", alone: "source revision only", kinds: "GitRepository OCIRepository", fields: "spec.ref.**"},
	{elsewhere: true, class: "source revision", alone: "source revision only", kinds: argoKinds + " GitRepo", fields: "**.targetRevision spec.branch spec.revision"},

	// What runs.
	{class: "image", alone: "image only", kinds: workloadKinds, fields: "**.containers.[].image **.initContainers.[].image **.ephemeralContainers.[].image"},
	{class: "image", alone: "image only", kinds: "HelmRelease", fields: valuesImages("spec.values.")},
	{class: "image", alone: "image only", kinds: argoKinds, fields: valuesImages("**.helm.valuesObject.") + " **.helm.parameters.[*image.tag].value **.helm.parameters.[*image.repository].value **.kustomize.images.**"},
	{class: "image", alone: "image only", kinds: "fleet.yaml", fields: valuesImages("helm.values.")},
	{class: "image", alone: "image only", kinds: valueFiles, fields: valuesImages("")},
	{class: "image", alone: "image only", kinds: "Kustomization kustomization.*", fields: kustomizeImages},
	{class: "replicas", alone: "replicas only", kinds: workloadKinds + " HorizontalPodAutoscaler ScaledObject", fields: "spec.replicas spec.minReplicas spec.maxReplicas spec.minReplicaCount spec.maxReplicaCount"},
	{class: "replicas", alone: "replicas only", kinds: "HelmRelease", fields: valuesReplicas("spec.values.")},
	{class: "replicas", alone: "replicas only", kinds: argoKinds, fields: valuesReplicas("**.helm.valuesObject.") + " **.kustomize.replicas.**"},
	{class: "replicas", alone: "replicas only", kinds: "fleet.yaml", fields: valuesReplicas("helm.values.")},
	{class: "replicas", alone: "replicas only", kinds: valueFiles, fields: valuesReplicas("")},
	{class: "replicas", alone: "replicas only", kinds: "Kustomization kustomization.*", fields: "replicas.**"},
	{class: "resources", alone: "resources only", kinds: workloadKinds, fields: "**.resources.**"},
	{class: "suspension", alone: "suspension only", kinds: fluxKinds + " " + sourceKinds + " CronJob Job GitRepo", fields: "spec.suspend spec.paused"},
	{class: StateMoved, risk: Unknown, kinds: "Terraform", fields: "spec.backendConfig.** spec.backendConfigsFrom.** spec.workspace"},
	{class: "health checks", alone: "health checks only", kinds: "Kustomization", fields: "spec.wait spec.healthChecks.** spec.healthCheckExprs.**"},
	{class: "dependencies", alone: "dependencies only", kinds: fluxKinds + " fleet.yaml", fields: "spec.dependsOn.** dependsOn.**"},

	// Configuration.
	{class: "config values", alone: "config values only", kinds: valueFiles},
	{class: "config values", alone: "config values only", kinds: "ConfigMap", fields: "data.** binaryData.**"},
	{class: "config values", alone: "config values only", kinds: fluxKinds, fields: "spec.values.** spec.valuesFrom.** spec.postBuild.** spec.vars.** spec.varsFrom.**"},
	{class: "config values", alone: "config values only", kinds: argoKinds, fields: "**.helm.values **.helm.valuesObject.** **.helm.parameters.** **.helm.valueFiles.**"},
	{class: "config values", alone: "config values only", kinds: "fleet.yaml", fields: "helm.values.** helm.valuesFiles.**"},
	{class: "config values", alone: "config values only", kinds: workloadKinds, fields: "**.containers.[].env.** **.containers.[].envFrom.** **.initContainers.[].env.**"},
	{class: "secrets", alone: "secrets only", kinds: "Secret", fields: "data.** stringData.** sops.**"},
	{class: "secrets", alone: "secrets only", kinds: "ExternalSecret SealedSecret SecretProviderClass", fields: "spec.**"},

	// Other known changes.
	{class: "labels or annotations", alone: "labels or annotations only", fields: "**.metadata.labels.** **.metadata.annotations.** spec.commonMetadata.**"},
	{class: "timing", alone: "timing only", kinds: fluxKinds + " " + sourceKinds, fields: "spec.interval spec.retryInterval spec.timeout"},
	{class: "API version", alone: "API version only", fields: "apiVersion"},
	{class: "order", alone: string(OrderOnly), op: reordered},
	{class: "file mode", alone: "file mode only", op: mode},
	{class: "root module", alone: "root module only", op: opaque, kinds: "*.tf", when: isOfStack},
	{class: "readme", alone: "readme only", op: opaque, kinds: "*.md"},
	{class: OrderOnly, when: neverMatches},
	{class: FormattingOnly, when: neverMatches},
	{class: PromotedCommit, when: neverMatches},
	{class: Bookkeeping, when: neverMatches},
	{class: OtherFiles, when: neverMatches},
	{class: ClusterFiles, when: neverMatches},
	{class: Unclassified, risk: Unknown, when: neverMatches},
}

const (
	sourceFields = "spec.path spec.sourceRef.** spec.chartRef.** spec.chart.spec.chart spec.chart.spec.sourceRef.** " +
		"**.repoURL **.source.path **.sources.[].path **.source.chart **.sources.[].chart"
	kustomizeImages = "images spec.images images.[] spec.images.[] images.[].newTag spec.images.[].newTag " +
		"images.[].newName spec.images.[].newName images.[].digest spec.images.[].digest"
)

func valuesImages(under string) string {
	return under + "**.image " + under + "**.image.tag " + under + "**.image.repository " + under + "**.image.registry " + under + "**.image.digest"
}

func valuesReplicas(under string) string {
	return under + "**.replicas " + under + "**.replicaCount " + under + "**.minReplicas " + under + "**.maxReplicas"
}

// The conditions. The survey itself assigns the classes with neverMatches.
func neverMatches(change) bool    { return false }
func isPruned(c change) bool      { return c.prunes }
func isOfStack(c change) bool     { return c.stack }
func isHook(c change) bool        { return strings.HasSuffix(c.kind, inside.HookSuffix) }
func isSwitchedOn(c change) bool  { return isTrue(c.new) }
func isBesideChart(c change) bool { return c.beside != nil && lookupField(c.beside, "chart") != nil }

func destroysOnDeletion(c change) bool {
	return c.old != nil && isTrue(lookupField(c.old, "spec", "destroyResourcesOnDeletion"))
}

func approvesDestruction(c change) bool {
	return c.new != nil && c.new.Value != "" && c.beside != nil && isTrue(lookupField(c.beside, "destroy"))
}

// isElsewhere reports whether the content is outside of the trees. A stack component's
// source is pinned to a root module in the tree.
func isElsewhere(unit Unit, classes []Class) bool {
	return slices.ContainsFunc(rules, func(r rule) bool {
		return r.elsewhere && slices.Contains(classes, r.class) && !(unit == Component && r.class == "source revision")
	})
}

func rowOf(c change) int {
	if i := slices.IndexFunc(rules, func(r rule) bool { return r.matches(c) }); i >= 0 {
		return i
	}
	return len(rules) - 1
}

func (r rule) matches(c change) bool {
	return r.op == c.op &&
		matchAny(r.kinds, func(pattern string) bool { return matchWord(pattern, c.kind) }) &&
		matchAny(r.fields, func(pattern string) bool { return matchPath(strings.Split(pattern, "."), c.path) }) &&
		(r.when == nil || r.when(c))
}

func matchAny(patterns string, match func(pattern string) bool) bool {
	for pattern := range strings.FieldsSeq(patterns) {
		if match(pattern) {
			return true
		}
	}
	return patterns == ""
}

// matchPath matches a pattern of keys: "**" is any number of keys, "[]" any list item,
// "[*x]" an item with a name that ends in x.
func matchPath(pattern, path []string) bool {
	if len(pattern) == 0 {
		return len(path) == 0
	}
	if pattern[0] == "**" {
		return matchPath(pattern[1:], path) || len(path) > 0 && matchPath(pattern, path[1:])
	}
	if len(path) == 0 {
		return false
	}
	isItem := pattern[0] == "[]" && strings.HasPrefix(path[0], "[")
	return (isItem || matchWord(pattern[0], path[0])) && matchPath(pattern[1:], path[1:])
}

func matchWord(pattern, word string) bool {
	before, after, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == word
	}
	return len(word) >= len(before)+len(after) && strings.HasPrefix(word, before) && strings.HasSuffix(word, after)
}

func groupName(classes []Class) string {
	if len(classes) == 1 {
		for _, r := range rules {
			if r.class == classes[0] && r.alone != "" {
				return r.alone
			}
		}
	}
	return strings.Join(list.Convert(classes, func(c Class) string { return string(c) }), ", ")
}

func riskOf(classes []Class) (highest Risk) {
	for _, r := range rules {
		if slices.Contains(classes, r.class) && r.risk.rank() > highest.rank() {
			highest = r.risk
		}
	}
	return highest
}
