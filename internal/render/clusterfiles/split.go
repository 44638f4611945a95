package clusterfiles

import (
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

func withEmptyParts(m *model.Model, before map[string]*previousManifest) *model.Model {
	names := slices.Sorted(maps.Keys(before))
	return provision.WithEmptyParts(list.Convert(names, func(name string) provision.State { return before[name].state }), m)
}

// resolveAll returns the manifests to render: the written ones, then parts whose
// removed clusters are not reported as destroyed.
func (f *follower) resolveAll(before map[string]*previousManifest) (all, leaving []*clusters.Manifest) {
	extended := *withEmptyParts(f.renderer.model, before)
	written := len(f.renderer.model.Clusters.Manifests)
	isGone := func(m *model.InputManifest) bool {
		b := before[m.Path()]
		carrier, err := b.findCarrier()
		return err == nil && len(b.state.Spec.Kubernetes.Clusters) == 0 && f.previous.IsCarriedOut(carrier)
	}
	kept := slices.DeleteFunc(slices.Clone(extended.Clusters.Manifests[written:]), isGone)
	extended.Clusters.Manifests = append(extended.Clusters.Manifests[:written:written], kept...)
	f.renderer.model = &extended
	all, _ = clusters.Resolve(&extended) // rendering reports the problems
	return all, all[written:]
}

func (f *follower) awaitLeaving(leaving []*clusters.Manifest, before map[string]*previousManifest) {
	for _, m := range leaving {
		if slices.ContainsFunc(f.waiting, func(c Carrier) bool { return c.Manifest == m.Path() }) {
			continue
		}
		b := before[m.Path()]
		carrier, err := b.findCarrier()
		if err != nil {
			f.reportUnread(b, err)
			continue
		}
		f.wait(carrier, "what is left is removed by another change after that", "its cluster is destroyed; its objects stay")
	}
}
