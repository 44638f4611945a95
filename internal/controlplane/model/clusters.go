package model

import (
	"cmp"
	"maps"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
)

type clusterListSpec struct {
	Closed   bool                `yaml:"closed"`
	Clusters []listedClusterSpec `yaml:"clusters" required:"true"`
}

type listedClusterSpec struct {
	Name   locatedText            `yaml:"name" required:"true"`
	Type   locatedText            `yaml:"type" required:"true"`
	Group  string                 `yaml:"group"`
	Wave   locatedText            `yaml:"wave"` // the earlier name of group
	Labels map[string]locatedText `yaml:"labels"`
}

// ListedCluster is a cluster that an environment expects by name.
type ListedCluster struct {
	Name, Type string
	Group      string // "" if it is in none
	Labels     map[string]string
	Pos        problem.Pos
	Subject    string // the ClusterList, as "Kind/name"

	typePos problem.Pos
}

const clusterNameHint = "name clusters as in east-7, and types as their ClusterTypes"

func (r *reader) readClusterList(n *yaml.Node, kind string, d *decoder) []*ListedCluster {
	o, s, meta := readObject[clusterListSpec](r, n, kind, d)
	if rules, written := meta.Annotations[ImportAnnotation]; written {
		at := r.positionAt(rules.Line)
		read, found := ReadImportRules(rules.Text, at, o.Subject())
		*d.problems = append(*d.problems, found...)
		for _, rule := range read.Types {
			r.out.importedTypes = append(r.out.importedTypes, importedType{rule.Type, at, o.Subject()})
		}
	}
	if s.Closed {
		r.out.progress.ClosedLists = append(r.out.progress.ClosedLists, o.Subject())
	}
	var all []*ListedCluster
	for _, listed := range s.Clusters {
		c := &ListedCluster{
			Name: listed.Name.Text, Type: listed.Type.Text, Group: cmp.Or(listed.Group, listed.Wave.Text), Labels: map[string]string{},
			Pos: r.positionAt(listed.Name.Line), typePos: r.positionAt(listed.Type.Line), Subject: o.Subject(),
		}
		if listed.Name.Line == 0 || listed.Type.Line == 0 { // it was reported as missing
			continue
		}
		for _, name := range []string{c.Name, c.Type} {
			if err := kubename.Check(name); err != nil {
				d.problems.Addf(c.Pos, c.Subject, clusterNameHint, "%v", err)
			}
		}
		if err := kubename.CheckLabelValue(c.Group); err != nil {
			d.problems.Addf(c.Pos, c.Subject, "write one word, such as canary", "the group of %s: %v", c.Name, err)
		}
		if listed.Wave.Line > 0 {
			d.problems.Warnf(r.positionAt(listed.Wave.Line), c.Subject, "write group: "+cmp.Or(c.Group, "canary"), "wave does not order clusters: it is the earlier name of group, which gates and the page count by")
		}
		for _, key := range sortedKeys(listed.Labels) {
			c.Labels[key] = listed.Labels[key].Text
			if err := cmp.Or(kubename.CheckLabelKey(key), kubename.CheckLabelValue(c.Labels[key])); err != nil {
				d.problems.Addf(r.positionAt(listed.Labels[key].Line), c.Subject, labelHint, "%v", err)
			}
		}
		all = append(all, c)
	}
	return all
}

// ListClusters returns the clusters of all ClusterLists by name, and problems with those that are listed
// twice. Of these the first one counts. A nil Progress lists none.
func (p *Progress) ListClusters() ([]*ListedCluster, problem.List) {
	if p == nil {
		return nil, nil
	}
	all := slices.Clone(p.Clusters)
	slices.SortFunc(all, func(a, b *ListedCluster) int { return cmp.Or(cmp.Compare(a.Name, b.Name), a.Pos.Compare(b.Pos)) })
	var problems problem.List
	kept := all[:0]
	for _, c := range all {
		if len(kept) > 0 && kept[len(kept)-1].Name == c.Name {
			problems.Addf(c.Pos, c.Subject, "remove one of them", "the cluster %s is listed twice, first at %s", c.Name, kept[len(kept)-1].Pos)
			continue
		}
		kept = append(kept, c)
	}
	return kept, problems
}

// importedType is the cluster type that a rule of a ClusterList gives to clusters.
type importedType struct {
	name    string
	pos     problem.Pos
	subject string
}

// checkClusters warns of listed clusters, and rules for their import, of a type that the environment does not have.
func (m *Model) checkClusters(listed []*ListedCluster, imported []importedType, problems *problem.List) {
	var names []string
	for _, t := range m.ClusterTypes {
		names = append(names, t.Name)
	}
	for _, c := range listed {
		if !slices.Contains(names, c.Type) {
			problems.Warnf(c.typePos, c.Subject, problem.DidYouMean(c.Type, names), "there is no cluster type %s, which cluster %s is listed with", c.Type, c.Name)
		}
	}
	for _, t := range imported {
		if t.name != "" && !slices.Contains(names, t.name) {
			problems.Warnf(t.pos, t.subject, problem.DidYouMean(t.name, names), "there is no cluster type %s, which a rule of %s gives to clusters", t.name, ImportAnnotation)
		}
	}
}

// divideTypes replaces each cluster type with [PerClusterAnnotation] by one for each of its listed clusters.
func (m *Model) divideTypes(p *Progress, problems *problem.List) {
	parts := map[*ClusterType]int{}
	for _, t := range m.ClusterTypes {
		if t.isPerCluster {
			parts[t] = 0
		}
	}
	if len(parts) == 0 {
		return
	}
	var all []*ClusterType
	listed, _ := p.ListClusters() // problems are reported where the branch is read
	for _, c := range listed {
		t := m.ClusterType(c.Type)
		if t == nil || !t.isPerCluster || c.Pos.Layer != m.Environment {
			continue
		}
		other, err := m.ClusterType(c.Name), kubename.Check(c.Name)
		switch {
		case err != nil:
			problems.Addf(c.Pos, c.Subject, clusterNameHint, "%v", err)
		case other != nil:
			problems.Addf(c.Pos, c.Subject, "rename the cluster type, or the cluster", "the folder of the cluster %s would be that of the cluster type %s, at %s", c.Name, c.Name, other.Pos)
		case len(c.Name) > kubename.MaxLabel:
			problems.Addf(c.Pos, c.Subject, "", "the name of a cluster with its own folder becomes a label: %q is %d characters long, and %d is the limit", c.Name, len(c.Name), kubename.MaxLabel)
		default:
			own := *t
			own.Name, own.Type, own.Clusters, own.Labels = c.Name, t.Name, 1, map[string]string{}
			maps.Copy(own.Labels, t.Labels)
			maps.Copy(own.Labels, c.Labels)
			own.Labels[ClusterTypeLabel] = t.Name
			all = append(all, &own)
		}
		parts[t]++
	}
	for _, t := range m.ClusterTypes {
		n, isDivided := parts[t]
		switch {
		case !isDivided:
			all = append(all, t)
		case n == 0:
			problems.Warnf(t.Pos, t.Subject(), "list them in a ClusterList", "no cluster is listed with this type, so that it has no folder")
		}
	}
	slices.SortFunc(all, func(a, b *ClusterType) int { return cmp.Compare(a.Name, b.Name) })
	m.ClusterTypes = all
}

// FolderOf returns the name of the cluster type that a cluster is rendered for: one of its own, or its type.
func (m *Model) FolderOf(cluster, clusterType string) string {
	if own := m.ClusterType(cluster); own != nil && own.Type != "" && own.Type == clusterType {
		return cluster
	}
	return clusterType
}
