// Package inventory brings ClusterLists up to date with the inventories of other systems: ClusterProfiles of
// SIG-Multicluster, ManagedClusters of Open Cluster Management, and the cluster Secrets of Argo CD.
//
// What the package keeps true: only names and labels are read, never the credentials of a Secret; a cluster that no
// rule gives a type is named and not listed; and a listed cluster that the inventory does not have is removed only if
// that is asked for.
package inventory

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// Cluster is a cluster of an inventory.
type Cluster struct {
	Name   string
	Kind   string // of the object that it was read from
	Labels map[string]string
}

const argoSecretLabel = "argocd.argoproj.io/secret-type"

// Source is a kind of objects that an API server has of clusters.
type Source struct {
	Kind, Group string
	Versions    []string // the newest first
	Resource    string
	Labels      string   // the selector of those that are clusters
	Fields      []string // what is read beside metadata
}

// Sources are the kinds of inventories.
var Sources = []Source{
	{Kind: "ClusterProfile", Group: "multicluster.x-k8s.io", Versions: []string{"v1", "v1beta1", "v1alpha1"}, Resource: "clusterprofiles", Fields: []string{}},
	{Kind: "ManagedCluster", Group: model.PlacementGroup, Versions: []string{"v1"}, Resource: "managedclusters", Fields: []string{}},
	{Kind: "Secret", Versions: []string{"v1"}, Resource: "secrets", Labels: argoSecretLabel + "=cluster", Fields: []string{"data"}},
}

// SourceKinds returns the kinds of [Sources].
func SourceKinds() []string { return list.Convert(Sources, func(s Source) string { return s.Kind }) }

// FindSource returns the source of a kind, or false if it is not of an inventory.
func FindSource(kind string) (Source, bool) {
	i := slices.Index(SourceKinds(), kind)
	if i < 0 {
		return Source{}, false
	}
	return Sources[i], true
}

// ReadObjects is [Read] for the objects of one kind, as JSON. place names the API server in problems.
func ReadObjects(place string, source Source, objects []json.RawMessage) ([]Cluster, problem.List) {
	c := collection{found: map[string]Cluster{}}
	for _, raw := range objects {
		var o struct {
			Metadata struct {
				Name   string            `json:"name"`
				Labels map[string]string `json:"labels"`
			} `json:"metadata"`
			Data struct {
				Name []byte `json:"name"`
			} `json:"data"`
		}
		if err := json.Unmarshal(raw, &o); err != nil {
			c.problems.Warnf(problem.Pos{File: place}, source.Kind, "it is left out", "an object cannot be read: %v", err)
			continue
		}
		c.add(problem.Pos{File: place}, Cluster{cmp.Or(string(o.Data.Name), o.Metadata.Name), source.Kind, o.Metadata.Labels})
	}
	return c.sorted(), c.problems
}

// collection is the clusters that were read, by name.
type collection struct {
	found    map[string]Cluster
	problems problem.List
}

func (c *collection) add(pos problem.Pos, cluster Cluster) {
	subject := cluster.Kind + "/" + cluster.Name
	if err := kubename.Check(cluster.Name); err != nil {
		c.problems.Warnf(pos, subject, "it is left out", "%v", err)
	} else if other, twice := c.found[cluster.Name]; twice {
		c.problems.Warnf(pos, subject, "the first one counts", "a %s has this name, too", other.Kind)
	} else {
		c.found[cluster.Name] = cluster
	}
}

func (c *collection) sorted() []Cluster {
	return slices.SortedFunc(maps.Values(c.found), func(a, b Cluster) int { return cmp.Compare(a.Name, b.Name) })
}

// Read returns the clusters of the objects in a text, by name. Lists are read, and other kinds are left alone. file is
// its name in problems.
func Read(file string, text []byte) ([]Cluster, problem.List) {
	all := collection{found: map[string]Cluster{}}
	documents, finding := manifest.Documents("the file", text, func() bool { return false })
	if finding != nil {
		all.problems.Addf(problem.Pos{File: file, Line: finding.Line}, "", finding.Hint, "%s", finding.Summary)
		return nil, all.problems
	}
	others := map[string]int{} // objects that are no clusters, by kind
	for _, n := range documents {
		objects := []*yaml.Node{n}
		if items := yamldoc.FindValue(n, "items"); items != nil && strings.HasSuffix(yamldoc.FindText(n, "kind"), "List") {
			objects = items.Content
		}
		for _, n := range objects {
			if c, known := readCluster(yamldoc.ResolveAlias(n)); known {
				all.add(problem.Pos{File: file, Line: n.Line}, c)
			} else {
				others[c.Kind]++
			}
		}
	}
	if len(all.found) == 0 && len(others) > 0 {
		all.problems.Warnf(problem.Pos{File: file}, "", "give a file of ClusterProfiles, ManagedClusters or Argo CD's cluster Secrets",
			"the file has no cluster: its kinds are %s", strings.Join(slices.Sorted(maps.Keys(others)), ", "))
	}
	return all.sorted(), all.problems
}

// readCluster reads an object; false if it is not a cluster of an inventory.
func readCluster(n *yaml.Node) (Cluster, bool) {
	group, _, _ := strings.Cut(yamldoc.FindText(n, "apiVersion"), "/")
	c := Cluster{Kind: yamldoc.FindText(n, "kind"), Name: yamldoc.FindText(n, "metadata", "name"), Labels: map[string]string{}}
	if labels := yamldoc.FindValue(n, "metadata", "labels"); labels != nil && labels.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(labels.Content); i += 2 {
			c.Labels[labels.Content[i].Value] = yamldoc.ResolveAlias(labels.Content[i+1]).Value
		}
	}
	switch group + " " + c.Kind {
	case "multicluster.x-k8s.io ClusterProfile", "cluster.open-cluster-management.io ManagedCluster":
		return c, true
	case "v1 Secret":
		encoded, err := base64.StdEncoding.DecodeString(yamldoc.FindText(n, "data", "name"))
		if err != nil {
			encoded = nil
		}
		c.Name = cmp.Or(yamldoc.FindText(n, "stringData", "name"), string(encoded), c.Name)
		return c, c.Labels[argoSecretLabel] == "cluster"
	}
	return c, false
}

// Change is what an import did to one cluster of a list.
type Change struct {
	Cluster  string `json:"cluster" yaml:"cluster"`
	From, To string `json:"-" yaml:"-"` // cluster types
}

// Changes is what an import did to a list, by name.
type Changes struct {
	Added, Moved, Vanished, Unknown []Change
}

// IsEmpty reports whether the list is the same.
func (c Changes) IsEmpty(removed bool) bool {
	return len(c.Added)+len(c.Moved) == 0 && (len(c.Vanished) == 0 || !removed)
}

// Merge brings the ClusterList that is the root of a document up to date. Clusters that are listed and not in the
// inventory are removed if remove is set, and named in any case; so are clusters whose type is not known. Whatever else
// is written in the list stays.
func Merge(root *yaml.Node, rules model.ImportRules, clusters []Cluster, remove bool) Changes {
	var changes Changes
	listed := yamldoc.FindValue(root, "spec", "clusters")
	if listed == nil || listed.Kind != yaml.SequenceNode {
		return changes
	}
	if len(listed.Content) == 0 {
		listed.Style = 0
	}
	items, inventory := map[string]*yaml.Node{}, map[string]bool{}
	for _, item := range listed.Content {
		items[yamldoc.FindText(item, "name")] = item
	}
	for _, c := range clusters {
		if inventory[c.Name] { // another inventory has it, too, and the first one counts
			continue
		}
		inventory[c.Name] = true
		to, item := rules.TypeOf(c.Labels), items[c.Name]
		switch {
		case to == "" && item == nil:
			changes.Unknown = append(changes.Unknown, Change{Cluster: c.Name})
			continue
		case to == "": // it was listed by hand
			continue
		case item == nil:
			item = &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
			setText(item, "name", c.Name)
			listed.Content = append(listed.Content, item)
			changes.Added = append(changes.Added, Change{Cluster: c.Name, To: to})
		case yamldoc.FindText(item, "type") != to:
			changes.Moved = append(changes.Moved, Change{c.Name, yamldoc.FindText(item, "type"), to})
		}
		setText(item, "type", to)
		copyLabels(item, rules.Labels, c.Labels)
	}
	listed.Content = slices.DeleteFunc(listed.Content, func(item *yaml.Node) bool {
		name := yamldoc.FindText(item, "name")
		if inventory[name] {
			return false
		}
		changes.Vanished = append(changes.Vanished, Change{Cluster: name, From: yamldoc.FindText(item, "type")})
		return remove
	})
	return changes
}

// Remove removes clusters from the ClusterList that is the root of a document.
func Remove(root *yaml.Node, clusters []Change) {
	listed := yamldoc.FindValue(root, "spec", "clusters")
	if listed == nil {
		return
	}
	listed.Content = slices.DeleteFunc(listed.Content, func(item *yaml.Node) bool {
		return slices.ContainsFunc(clusters, func(c Change) bool { return c.Cluster == yamldoc.FindText(item, "name") })
	})
	if len(listed.Content) == 0 {
		listed.Style = yaml.FlowStyle
	}
}

func copyLabels(item *yaml.Node, keys []string, labels map[string]string) {
	for _, key := range keys {
		value, written := labels[key]
		if !written {
			continue
		}
		to := yamldoc.FindValue(item, "labels")
		if to == nil || to.Kind != yaml.MappingNode {
			yamldoc.RemoveKey(item, "labels")
			to = &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
			yamldoc.AddPair(item, "labels", to)
		}
		setText(to, key, value)
	}
}

func setText(mapping *yaml.Node, key, value string) {
	if yamldoc.FindText(mapping, key) != value || value == "" {
		yamldoc.SetText(mapping, key, value)
	}
}
