package clustermodule

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/render/rootmodule"
)

var (
	folderName   = regexp.MustCompile(`^[0-9A-Za-z_][0-9A-Za-z_.-]*$`)
	refName      = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._/+-]*$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][0-9A-Za-z_-]*$`)
)

// Find returns the modules of a manifest, or nil, with their problems.
func Find(m *model.Model, manifest *clusters.Manifest) (*model.ClusterModules, problem.List) {
	var problems problem.List
	all := m.Clusters.Modules
	names := list.Convert(all, func(c *model.ClusterModules) string { return c.Name })
	wanted := manifest.Annotations[model.ModulesAnnotation]
	i := slices.IndexFunc(all, func(c *model.ClusterModules) bool {
		return wanted == "" && len(all) == 1 || wanted != "" && c.Name == wanted
	})
	switch {
	case i >= 0:
		return all[i], append(problems, checkModules(all[i])...)
	case wanted != "":
		problems.Addf(manifest.Pos, manifest.Subject(), problem.DidYouMean(wanted, names), "there is no ClusterModules %s, which %s names", wanted, model.ModulesAnnotation)
	case len(all) == 0:
		problems.Addf(manifest.Pos, manifest.Subject(), "add a ClusterModules: fairlead schema ClusterModules shows what it may hold", "the executor %s needs modules, and none are named", clusters.Tofu)
	default:
		problems.Addf(manifest.Pos, manifest.Subject(), "annotate it with "+model.ModulesAnnotation+": one of "+strings.Join(names, ", "), "there are several ClusterModules")
	}
	return nil, problems
}

func checkModules(c *model.ClusterModules) problem.List {
	var problems problem.List
	if c.Spec.Repo == "" {
		problems.Addf(c.PositionOf("repo"), c.Subject(), "", "spec.repo is required")
	} else if _, err := stack.RepositoryURL(c.Spec.Repo); err != nil {
		problems.Addf(c.PositionOf("repo"), c.Subject(), "as in https://github.com/acme/infra-modules", "spec.repo: %v", err)
	}
	if c.Spec.Ref != "" && !refName.MatchString(c.Spec.Ref) {
		problems.Addf(c.PositionOf("ref"), c.Subject(), "name one tag", "spec.ref cannot be %q", c.Spec.Ref)
	}
	for _, named := range namedModules(&c.Spec) {
		if named.module.Path != "" {
			if _, err := sourceOf(&model.ClusterModulesSpec{Repo: "https://example.org/modules"}, named.module.Path); err != nil {
				problems.Addf(c.PositionOf(append(named.field, "path")...), c.Subject(), "", "%s.path: %v", joinField(named.field), err)
			}
		}
		for name := range named.module.Variables {
			if !variableName.MatchString(name) || rootmodule.IsReserved(name) {
				problems.Addf(c.PositionOf(append(named.field, "variables", name)...), c.Subject(), "Terraform has no variables of this name", "%s: %q cannot be a variable of a module", joinField(named.field), name)
			}
		}
	}
	return problems.Sorted()
}

type namedModule struct {
	field  []any
	module model.ClusterModule
}

func namedModules(spec *model.ClusterModulesSpec) []namedModule {
	all := []namedModule{{[]any{"bootstrap"}, spec.Bootstrap}, {[]any{"loadBalancer"}, spec.LoadBalancer}}
	for provider, modules := range spec.Providers {
		all = append(all, namedModule{[]any{"providers", provider, "network"}, modules.Network},
			namedModule{[]any{"providers", provider, "pool"}, modules.Pool}, namedModule{[]any{"providers", provider, "dns"}, modules.DNS})
	}
	slices.SortFunc(all, func(a, b namedModule) int { return cmp.Compare(joinField(a.field), joinField(b.field)) })
	return all
}

// ListRepositories returns the repositories of all modules of manifests, including
// unused ones: a phase may still need them.
func ListRepositories(m *model.Model) []rootmodule.Repository {
	manifests, _ := clusters.Resolve(m) // rendering reports its problems
	var all []rootmodule.Repository
	for _, manifest := range manifests {
		if manifest.Executor != clusters.Tofu {
			continue
		}
		modules, problems := Find(m, manifest)
		if modules == nil || problems.Stops() {
			continue
		}
		seen := map[string]bool{}
		for _, named := range namedModules(&modules.Spec) {
			source, err := sourceOf(&modules.Spec, named.module.Path)
			if named.module.Path == "" || err != nil || seen[source] {
				continue
			}
			seen[source] = true
			by := modules.Object
			by.Pos = modules.PositionOf(named.field...)
			if r, ok := rootmodule.GitModule(source, by); ok {
				all = append(all, r)
			}
		}
	}
	return all
}
