package stackfiles

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/render/rootmodule"
)

func (r *renderer) addHelm(folder string, c *stack.Component) {
	if c.Source == nil { // it was reported
		return
	}
	if c.Destroyed {
		r.addUninstall(folder, componentMetadata(c), []kubeobject.Reference{{Kind: releaseKind, Name: c.ObjectName}})
		return
	}
	meta := componentMetadata(c)
	meta.Annotations = keepingAnnotations(c)
	chart := chartSpec{Version: c.Source.Version}
	if c.Source.Chart != "" {
		chart.Chart, chart.SourceRef = c.Source.Chart, kubeobject.Reference{Kind: "HelmRepository", Name: c.ObjectName}
		r.addObject(path.Join(folder, "helmrepository.yaml"), &kubeobject.Object[helmRepositorySpec]{
			APIVersion: sourceAPI, Kind: "HelmRepository", Metadata: meta, Spec: r.newHelmRepositorySpec(c),
		})
	} else {
		chart.Chart, chart.ReconcileStrategy = "./"+strings.Trim(path.Clean("/"+c.Source.Path), "/"), "Revision"
		chart.SourceRef = kubeobject.Reference{Kind: "GitRepository", Name: c.ObjectName}
		address, err := stack.PublicURL(c.Source.Repo.Text)
		if err != nil {
			r.problems.Addf(c.Stack.PositionAt(c.Source.Repo.Line), c.Stack.Subject(), "", "component %s: source.repo: %v", c.Name, err)
		}
		r.addObject(path.Join(folder, sourceFile), &kubeobject.Object[gitRepositorySpec]{
			APIVersion: sourceAPI, Kind: "GitRepository", Metadata: meta,
			Spec: gitRepositorySpec{Interval: r.interval(), URL: address, Ref: parseRef(c.Source.Ref)},
		})
	}
	action := actionSpec{strategy{"RetryOnFailure", retryInterval}} // Flux would never try again
	spec := helmReleaseSpec{Suspend: c.Skipped, Interval: r.interval(), Chart: chartTemplate{chart}, Install: installSpec{actionSpec: action}, Upgrade: action, Drift: driftDetection{"enabled"}}
	if secret, key := c.FindKubeconfig(r.settings.Charts); secret != "" { // the namespace of the stack is on this cluster
		spec.KubeConfig, spec.Install.CreateNamespace = &kubeConfig{secretKey{secret, key}}, true
	}
	for _, n := range c.Needs {
		if n.Type == stack.Helm {
			spec.DependsOn = append(spec.DependsOn, kubeobject.Reference{Name: n.ObjectName})
		}
	}
	r.setValues(c, &spec)
	r.addObject(path.Join(folder, releaseFile), &kubeobject.Object[helmReleaseSpec]{APIVersion: helmAPI, Kind: releaseKind, Metadata: meta, Spec: spec})
}

func (r *renderer) newHelmRepositorySpec(c *stack.Component) helmRepositorySpec {
	spec := helmRepositorySpec{Interval: r.interval(), URL: c.Source.Repo.Text}
	switch scheme, _, _ := strings.Cut(spec.URL, "://"); scheme {
	case "oci":
		spec.Type = "oci"
	case "http", "https":
	default:
		r.problems.Addf(c.Stack.PositionAt(c.Source.Repo.Line), c.Stack.Subject(), "a repository of charts is at an address that begins with https:// or oci://",
			"component %s: source.repo cannot be %q", c.Name, spec.URL)
	}
	return spec
}

// parseRef returns what a ref of a chart's repository names: a commit, a full reference, a version,
// which is a tag, or else a branch.
func parseRef(ref string) *gitRef {
	switch {
	case ref == "":
		return &gitRef{Branch: stack.DefaultBranch}
	case stack.CommitID.MatchString(ref):
		return &gitRef{Commit: ref}
	case strings.HasPrefix(ref, "refs/"):
		return &gitRef{Name: ref}
	case stack.VersionTag.MatchString(ref):
		return &gitRef{Tag: ref}
	}
	return &gitRef{Branch: ref}
}

// setValues sets the values of a chart. A name with dots is a path. Outputs of other components are
// read, with their types, from the Secrets that tofu-controller writes: each has them as one text in
// YAML.
func (r *renderer) setValues(c *stack.Component, spec *helmReleaseSpec) {
	spec.Values = map[string]any{}
	all := map[string]any{}
	for _, v := range c.Variables {
		keys := stack.SplitValueName(v.Name)
		if !setPath(all, keys, v.Value) {
			r.problems.Addf(c.Stack.PositionAt(v.Line), c.Stack.Subject(), "name a value, or values in it, and not both", "component %s: the variable %s is a value, and has values in it", c.Name, v.Name)
			continue
		}
		if v.From == nil {
			setPath(spec.Values, keys, parseValue(v.Value))
		}
	}
	for _, n := range c.Needs {
		name := rootmodule.ValuesOutput(c)
		if slices.Contains(rootmodule.ValuesOutputs(n), name) {
			spec.ValuesFrom = append(spec.ValuesFrom, valuesFrom{Kind: "Secret", Name: n.OutputsSecret(), ValuesKey: name})
		}
	}
}

// parseValue returns the value that a text stands for, as Helm's --set has it: a boolean, null, a whole number,
// or a text. CloudKnit has all values as texts.
func parseValue(written string) any {
	switch written {
	case "true", "false":
		return written == "true"
	case "null":
		return nil
	}
	if n, err := strconv.ParseInt(written, 10, 64); err == nil && strconv.FormatInt(n, 10) == written {
		return n
	}
	return written
}

// setPath sets a value at the end of keys of nested mappings; false if there is a value on the way.
func setPath(values map[string]any, keys []string, value any) bool {
	inner, isMap := values[keys[0]].(map[string]any)
	taken := values[keys[0]] != nil
	switch {
	case len(keys) == 1 && taken, len(keys) > 1 && taken && !isMap:
		return false
	case len(keys) == 1:
		values[keys[0]] = value
		return true
	case !taken:
		inner = map[string]any{}
		values[keys[0]] = inner
	}
	return setPath(inner, keys[1:], value)
}
