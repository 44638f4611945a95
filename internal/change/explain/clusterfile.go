package explain

import (
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
)

func resolveClusterPath(m *model.Model, query string) (subject, error) {
	manifests, _ := clusters.Resolve(m) // rendering reports its problems
	i := slices.IndexFunc(manifests, func(o *clusters.Manifest) bool { return strings.HasPrefix(query+"/", clusterfiles.FolderOf(o)+"/") })
	if i < 0 {
		folders := list.Convert(manifests, clusterfiles.FolderOf)
		hint := problem.DidYouMean(query, folders)
		if hint == "" {
			hint = "the folders of manifests are " + strings.Join(folders, ", ")
		}
		return subject{}, queryErrorf(hint, "%s is not of a manifest of clusters that environment %s has", query, m.Environment)
	}
	below := strings.TrimPrefix(strings.TrimPrefix(query, clusterfiles.FolderOf(manifests[i])), "/")
	return subject{query, func(q *explainer, a *Answer) { a.File = q.explainClusterFile(query, below, manifests[i]) }}, nil
}

func (q *explainer) explainClusterFile(query, below string, m *clusters.Manifest) *File {
	f := &File{Path: query}
	files, problems := clusterfiles.Render(q.model)
	first, stops := problems.FirstStopping()
	rendered := query
	if below == provision.PlanFile { // written with the lock, once the previous output is known
		rendered = path.Join(path.Dir(query), provision.LockFile)
	}
	f.Exists = hasPath(files, rendered)
	switch {
	case stops:
		f.WhyNot = "a problem stops the clusters: " + first.Summary
	case !f.Exists:
		f.WhyNot = "the manifest has no such file"
	}
	folder, name, _ := strings.Cut(below, "/")
	if clusterfiles.IsCredentialFolder(folder) {
		f.Reads = append(f.Reads, Read{objectOf(m), []string{"spec.providers[].secretRef", "spec.nodePools.static[].nodes[].secretRef"}})
		for _, c := range q.model.Clusters.Credentials {
			if name == "" || clusterfiles.CredentialFile(c) == name {
				f.Reads = append(f.Reads, Read{objectOf(c), []string{"the whole object"}})
			}
		}
		return f
	}
	if u := findUnitOfFile(m, name); u != nil {
		f.Reads = append(f.Reads, Read{objectOf(m), unitFields(u)})
		return f
	}
	f.Reads = append(f.Reads, Read{objectOf(m), []string{"metadata", "spec"}})
	for _, b := range q.model.Clusters.Bindings {
		if folder != "" && (strings.HasSuffix(folder, ".yaml")) && m.IsNamedBy(b.Spec.InputManifest) {
			f.Reads = append(f.Reads, Read{objectOf(b), []string{"spec.clusters"}})
		}
	}
	return f
}

func findUnitOfFile(m *clusters.Manifest, name string) *clusters.Unit {
	base := strings.TrimSuffix(path.Base(name), ".yaml")
	if u := m.FindUnit(base); u != nil {
		return u
	}
	return m.FindUnit(strings.TrimPrefix(base, "cluster-"))
}

func unitFields(u *clusters.Unit) []string {
	fields := []string{"spec.kubernetes.clusters[" + u.Name + "]"}
	for _, pool := range slices.Concat(u.Pools.Control, u.Pools.Compute) {
		if field := "spec.nodePools[" + pool + "]"; !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
	}
	for _, lb := range u.LoadBalancers {
		fields = append(fields, "spec.loadBalancers.clusters["+lb.Name+"]")
	}
	return fields
}
