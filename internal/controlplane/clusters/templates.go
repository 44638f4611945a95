package clusters

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// TemplateSource is a commit of templates that Claudie makes machines from.
type TemplateSource struct {
	URL, Commit string
	// Private is set if Claudie reads the repository with its own credentials.
	Private bool
	// By is the object that names the commit, at its line.
	By model.Object
}

// ListTemplates returns the templates of an environment's manifests, sorted by
// position. It skips incomplete ones.
func ListTemplates(m *model.Model) []TemplateSource {
	var all []TemplateSource
	add := func(by *model.Composed, path fieldPath, url, commit string, private bool) {
		if url == "" || commit == "" {
			return
		}
		at := by.Object
		at.Pos = by.PositionOf(path...)
		all = append(all, TemplateSource{url, commit, private, at})
	}
	used := map[claudie.Reference]bool{}
	for _, manifest := range m.Clusters.Manifests {
		if executor := manifest.Annotations[model.ExecutorAnnotation]; executor != "" && executor != Claudie {
			continue
		}
		for i := range manifest.Spec.Providers {
			p := &manifest.Spec.Providers[i]
			used[p.TemplatesName()] = true
			if p.Templates != nil {
				add(&manifest.Composed, fieldPath{"providers", i, "templates", "tag"}, p.Templates.Repository, p.Templates.Tag, false)
			}
		}
	}
	for _, t := range m.Clusters.Templates {
		if used[claudie.Reference{Name: t.Name, Namespace: t.Namespace}] && t.Spec.Endpoint.URL != "" {
			add(&t.Composed, fieldPath{"commit"}, "https://"+t.Spec.Endpoint.URL, t.Spec.Commit, t.Spec.Auth != nil)
		}
	}
	slices.SortStableFunc(all, func(a, b TemplateSource) int {
		return cmp.Or(cmp.Compare(a.By.Pos.File, b.By.Pos.File), cmp.Compare(a.By.Pos.Line, b.By.Pos.Line))
	})
	return all
}
