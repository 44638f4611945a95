// Package fleet generates synthetic control planes of any size, for benchmarks and
// property tests.
//
// What it keeps true: equal [Size] values generate equal files, and an [Edit] changes one
// of them. The layout and the templates are like those of Kalypso's public control plane: a
// Flux GitRepository and Kustomization, a namespace, and a ConfigMap of the merged values;
// four manifests in three files for each assignment.
package fleet

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Environment is the name of the environment that all fleets have.
const Environment = "prod"

// Size is the size of a fleet.
type Size struct {
	Workloads    int // with one deployment target each
	ClusterTypes int
	Configs      int
	// Reach is how many cluster types a workload goes to; 0 for all of them.
	Reach int
}

// Large is the fleet of the published benchmarks: 500 workloads on 200 cluster types, so
// 100,000 assignments, with 120 configs.
var Large = Size{Workloads: 500, ClusterTypes: 200, Configs: 120}

// Fleet is the files of a control plane, by layer and path.
type Fleet struct {
	size                 Size
	base, env, workloads map[string]string
}

// New generates a fleet.
func New(s Size) *Fleet {
	f := &Fleet{
		size:      s,
		base:      map[string]string{"templates.yaml": templates, "registration.yaml": registration},
		env:       map[string]string{"gitops-repo.yaml": gitOpsRepo, "base-repo.yaml": baseRepo},
		workloads: map[string]string{},
	}
	for i := range s.ClusterTypes {
		f.env[fmt.Sprintf("cluster-types/ct-%04d.yaml", i)] = clusterType(i, s)
	}
	for i := range s.Workloads {
		f.workloads[workloadPath(i)] = workloadFile(i, s, "main")
	}
	for i := range s.Configs {
		f.env[fmt.Sprintf("configs/config-%03d.yaml", i)] = configFile(i, s)
	}
	for zone := range zoneCount(s) {
		f.env[fmt.Sprintf("policies/zone-%04d.yaml", zone)] = policyFile(zone)
	}
	return f
}

// Layers returns the fleet as the layers of a model.
func (f *Fleet) Layers() []model.Layer {
	return []model.Layer{
		{Kind: model.Base, Name: "main", Files: newTree(f.base)},
		{Kind: model.Env, Name: Environment, Files: newTree(f.env)},
		{Kind: model.Workloads, Name: "apps", Files: newTree(f.workloads)},
	}
}

func newTree(texts map[string]string) tree.Tree {
	var b tree.Builder
	for path, text := range texts {
		if err := b.Add(path, []byte(text)); err != nil {
			panic("fleet: " + err.Error())
		}
	}
	return b.Tree()
}

// SetBranch changes the branch that one workload is deployed from: a new version
// of it, which all its assignments read.
func (f *Fleet) SetBranch(i int, branch string) {
	f.workloads[workloadPath(i)] = workloadFile(i, f.size, branch)
}

// SetIdle adds a config that no assignment reads to the environment: a commit that changes
// no output.
func (f *Fleet) SetIdle(value string) {
	f.env["configs/idle.yaml"] = configMap("idle", map[string]string{"region": "nowhere"}, "  IDLE: "+value+"\n")
}

func workloadPath(i int) string { return fmt.Sprintf("teams/team-%02d/app-%04d.yaml", i%20, i) }

// zoneCount is how many groups of cluster types there are; a workload goes to the
// cluster types of one of them.
func zoneCount(s Size) int {
	if s.Reach == 0 || s.Reach >= s.ClusterTypes {
		return 1
	}
	return s.ClusterTypes / s.Reach
}

func clusterType(i int, s Size) string {
	return fmt.Sprintf(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata:
  name: ct-%04d
  labels:
    region: region-%d
    size: %s
    zone: zone-%04d
    tier: tier-%d
spec:
  reconciler: flux
  namespaceService: default
  configType: configmap
`, i, i%8, []string{"small", "large"}[i%2], i%zoneCount(s), i%4)
}

func workloadFile(i int, s Size, branch string) string {
	return fmt.Sprintf(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata:
  name: app-%04d
  labels:
    type: application
    team: team-%02d
spec:
  deploymentTargets:
    - name: main
      labels:
        zone: zone-%04d
        criticality: level-%d
      environment: prod
      manifests:
        repo: https://git.example.com/team-%02d/app-%04d
        branch: %s
        path: ./deploy/overlays/prod
`, i, i%20, i%zoneCount(s), i%3, i%20, i, branch)
}

func policyFile(zone int) string {
	return fmt.Sprintf(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata:
  name: zone-%04d
spec:
  deploymentTargetSelector:
    workspace: apps
    labelSelector:
      matchLabels:
        zone: zone-%04d
  clusterTypeSelector:
    labelSelector:
      matchExpressions:
        - {key: zone, operator: In, values: [zone-%04d]}
`, zone, zone, zone)
}

// configFile returns configs on mixed labels: for all, for a region, size or tier, for one
// cluster type, for a team, for a team in a region, and for one workload.
func configFile(i int, s Size) string {
	labels := map[string]string{}
	switch i % 8 {
	case 1:
		labels["region"] = fmt.Sprintf("region-%d", i/8%8)
	case 2:
		labels["size"] = []string{"small", "large"}[i/8%2]
	case 3:
		labels["cluster-type"] = fmt.Sprintf("ct-%04d", i*7%s.ClusterTypes)
	case 4:
		labels["team"] = fmt.Sprintf("team-%02d", i/8%20)
	case 5:
		labels["team"], labels["region"] = fmt.Sprintf("team-%02d", i/8%20), fmt.Sprintf("region-%d", i%8)
	case 6:
		labels["workload"] = fmt.Sprintf("app-%04d", i*11%max(s.Workloads, 1))
	case 7:
		labels["tier"] = fmt.Sprintf("tier-%d", i/8%4)
	}
	data := fmt.Sprintf("  KEY_%d: value %d\n  REGION_NAME: region of config %d\n", i%16, i, i)
	if i%3 == 0 {
		data += fmt.Sprintf("  LIMITS: |\n    cpu: {requests: 1%d0m, limits: %d}\n    zone-%d: [a, b]\n", i%9, i%4+1, i)
	}
	if i%5 == 0 {
		data += fmt.Sprintf("  ENDPOINTS: |\n    - {name: db, url: \"db-%d.example.com\"}\n    - {name: queue-%d, port: %d}\n", i, i%3, 5000+i)
	}
	return configMap(fmt.Sprintf("config-%03d", i), labels, data)
}

func configMap(name string, labels map[string]string, data string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  labels:\n    platform-config: \"true\"\n", name)
	for _, key := range []string{"region", "size", "tier", "team", "cluster-type", "workload"} {
		if value, ok := labels[key]; ok {
			fmt.Fprintf(&b, "    %s: %s\n", key, value)
		}
	}
	return b.String() + "data:\n" + data
}

const registration = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata:
  name: apps
spec:
  workload:
    repo: https://git.example.com/apps
    branch: main
    path: .
  workspace: apps
`

const gitOpsRepo = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: GitOpsRepo
metadata:
  name: prod
spec:
  repo: https://git.example.com/gitops
  branch: prod
  path: .
`

const baseRepo = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: BaseRepo
metadata:
  name: main
spec:
  repo: https://git.example.com/control-plane
  branch: main
  path: .
  commit: 4f2b6c1d9e8a7053b1c2d3e4f5a6b7c8d9e0f1a2
`

const templates = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata:
  name: flux
spec:
  type: reconciler
  manifests:
    - |
      apiVersion: source.toolkit.fluxcd.io/v1
      kind: GitRepository
      metadata:
        name: "{{ .DeploymentTargetName }}"
        namespace: flux-system
        labels:
          platform.example.com/environment: "{{ .Environment }}"
          platform.example.com/workspace: "{{ .Workspace }}"
          platform.example.com/workload: "{{ .Workload }}"
          platform.example.com/cluster-type: "{{ .ClusterType }}"
      spec:
        interval: 30s
        url: "{{ .Manifests.repo }}"
        ref:
          branch: "{{ .Manifests.branch }}"
        secretRef:
          name: repo-secret
    - |
      apiVersion: kustomize.toolkit.fluxcd.io/v1
      kind: Kustomization
      metadata:
        name: "{{ .DeploymentTargetName }}"
        namespace: flux-system
        labels:
          platform.example.com/environment: "{{ .Environment }}"
          platform.example.com/workspace: "{{ .Workspace }}"
          platform.example.com/workload: "{{ .Workload }}"
          platform.example.com/cluster-type: "{{ .ClusterType }}"
      spec:
        interval: 30s
        retryInterval: 1m
        timeout: 5m
        {{- with .DependsOn }}
        dependsOn:
        {{- range . }}
          - name: {{ . | quote }}
        {{- end }}
        {{- end }}
        wait: true
        targetNamespace: "{{ .Namespace }}"
        sourceRef:
          kind: GitRepository
          name: "{{ .DeploymentTargetName }}"
        path: "{{ .Manifests.path }}"
        prune: true
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata:
  name: default
spec:
  type: namespace
  manifests:
    - |
      apiVersion: v1
      kind: Namespace
      metadata:
        name: "{{ .Namespace }}"
        labels:
          environment: "{{ .Environment }}"
          workspace: "{{ .Workspace }}"
          workload: "{{ .Workload }}"
          deploymentTarget: "{{ .DeploymentTargetName }}"
          clusterType: "{{ .ClusterType }}"
          team: "{{ .Labels.team }}"
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata:
  name: configmap
spec:
  type: config
  manifests:
    - |
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: platform-config
        namespace: {{ .Namespace }}
        labels:
          workload: "{{ .Workload }}"
      data:
      {{ stringify .ConfigData | indent 2 }}
`
