package fluxsim

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
	"github.com/fairlead-io/fairlead/internal/render/templatefunc"
)

// objects are by "Kind/namespace/name".
type objects map[string]object

type object struct {
	digest tree.ID
	// source and ref are set for a GitRepository.
	source string
	ref    ref
	// from is the GitRepository of a Kustomization.
	from string
}

type ref struct{ branch, tag, semver, commit string }

// Source is a fetchable repository, with every commit.
type Source struct{ Branches, Tags []string }

// findFailure returns Flux's error for a ref, or "". Precedence as in Flux: commit, semver, tag,
// branch.
func (s Source) findFailure(r ref) string {
	switch {
	case r.commit != "":
		return ""
	case r.semver != "":
		if slices.ContainsFunc(s.Tags, func(tag string) bool { return isInRange(tag, r.semver) }) {
			return ""
		}
		return "no match found for semver: " + r.semver
	case r.tag != "":
		if slices.Contains(s.Tags, r.tag) {
			return ""
		}
		return fmt.Sprintf("couldn't find remote ref \"refs/tags/%s\"", r.tag)
	case slices.Contains(s.Branches, r.branch):
		return ""
	}
	return fmt.Sprintf("couldn't find remote ref \"refs/heads/%s\"", r.branch)
}

// commas converts a range for templates: Flux also accepts spaces for commas.
var commas = strings.NewReplacer("|| <", "||<", "|| >", "||>", ", <", ",<", ", >", ",>", " <", ",<", " >", ",>", " !", ",!")

func isInRange(tag, versions string) bool {
	var meter templatefunc.Meter
	meter.Reset(1<<10, nil)
	var said strings.Builder
	compare, err := template.New("").Funcs(templatefunc.Map(&meter)).Parse("{{semverCompare .Range .Tag}}")
	if err != nil {
		return false
	}
	err = compare.Execute(&said, struct{ Range, Tag string }{commas.Replace(versions), tag})
	return err == nil && said.String() == "true"
}

func readObjects(repo *git.Repository, commit, folder string) (objects, error) {
	view, err := repo.View(commit)
	if err != nil {
		return nil, err
	}
	if _, ok := view.Tree.Lookup(folder); !ok {
		return nil, view.Err()
	}
	found := objects{}
	for name, file := range view.Tree.Sub(folder).Walk() {
		if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" {
			continue
		}
		decoded, err := manifest.Decode(file.Data)
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", folder, name, err)
		}
		for _, o := range decoded {
			one := object{digest: file.ID}
			if o.Kind == "GitRepository" {
				find := func(key string) string { return yamldoc.FindText(o.Node, "spec", "ref", key) }
				one.source, one.ref = yamldoc.FindText(o.Node, "spec", "url"), ref{find("branch"), find("tag"), find("semver"), find("commit")}
			}
			if source := yamldoc.FindText(o.Node, "spec", "sourceRef", "name"); o.Kind == "Kustomization" && source != "" {
				one.from = path.Join("GitRepository", o.Namespace, source)
			}
			found[path.Join(o.Kind, o.Namespace, o.Name)] = one
		}
	}
	return found, view.Err()
}

func (all objects) findUnhealthy(sources map[string]Source) []string {
	var bad []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		o := all[name]
		if o.source == "" {
			continue
		}
		source, known := sources[o.source]
		why := source.findFailure(o.ref)
		if !known {
			why = fmt.Sprintf("unable to clone '%s': repository not found", o.source)
		}
		if why != "" {
			bad = append(bad, fmt.Sprintf("%s status: 'Failed': %s", name, why))
		}
	}
	return bad
}
