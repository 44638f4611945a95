package importer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/kubeclient"
	"github.com/fairlead-io/fairlead/internal/controlplane/inventory"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

const placementFile = "imported-placements.yaml"

// hubObject is what is kept of an object of a hub of Open Cluster Management: what changes without a decision is not.
type hubObject struct {
	APIVersion string      `json:"apiVersion" yaml:"apiVersion"`
	Kind       string      `json:"kind" yaml:"kind"`
	Metadata   hubMetadata `json:"metadata" yaml:"metadata"`
	Status     *hubStatus  `json:"status" yaml:"status,omitempty"` // of a PlacementDecision
}

type hubMetadata struct {
	Name      string            `json:"name" yaml:"name"`
	Namespace string            `json:"namespace" yaml:"namespace,omitempty"`
	Labels    map[string]string `json:"labels" yaml:"labels,omitempty"`
}

type hubStatus struct {
	Decisions []hubDecision `json:"decisions" yaml:"decisions"`
}

type hubDecision struct {
	ClusterName string `json:"clusterName" yaml:"clusterName"`
}

func (o hubObject) placement() string {
	return o.Metadata.Namespace + "/" + o.Metadata.Labels[model.PlacementLabel]
}

// listPlacements returns the PlacementDecisions of a hub, and then its ManagedClusters, each by namespace and name.
func listPlacements(ctx context.Context, client *kubeclient.Client, n config.Inventory) ([]hubObject, error) {
	pages, err := listHub(ctx, client, kubeclient.Query{
		Group: model.PlacementGroup, Versions: []string{"v1beta1"}, Resource: "placementdecisions", Namespace: n.Namespace, Labels: model.PlacementLabel, Most: maxObjects, Fields: []string{"status"},
	})
	if err != nil {
		return nil, err
	}
	clusters, err := listHub(ctx, client, kubeclient.Query{Group: model.PlacementGroup, Versions: []string{"v1"}, Resource: "managedclusters", Most: maxObjects, Fields: []string{}})
	return append(pages, clusters...), err
}

func listHub(ctx context.Context, client *kubeclient.Client, q kubeclient.Query) ([]hubObject, error) {
	raw, err := client.List(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", q.Resource, err)
	}
	var all []hubObject
	for _, text := range raw {
		var o hubObject
		if err := json.Unmarshal(text, &o); err != nil {
			return nil, fmt.Errorf("read one of %s: %w", q.Resource, err)
		}
		kept := map[string]string{}
		for _, key := range []string{model.PlacementLabel, model.GroupIndexLabel, model.GroupNameLabel, model.ClusterTypeLabel} {
			if value, there := o.Metadata.Labels[key]; there {
				kept[key] = value
			}
		}
		o.Metadata.Labels = kept
		if o.Status != nil {
			slices.SortFunc(o.Status.Decisions, func(a, b hubDecision) int { return cmp.Compare(a.ClusterName, b.ClusterName) })
		}
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b hubObject) int {
		return cmp.Or(cmp.Compare(a.Metadata.Namespace, b.Metadata.Namespace), cmp.Compare(a.Metadata.Name, b.Metadata.Name))
	})
	return all, nil
}

// importPlacements proposes what hubs have decided for the Placements that policies of an environment follow.
func (d *Desk) importPlacements(ctx context.Context, m *model.Model, environment string, branch source.Branch, remote *repos.Remote, problems *problem.List) error {
	isOfPlacements := func(n config.Inventory) bool {
		return n.Environment == environment && n.Kind == model.PlacementDecisionKind
	}
	if m == nil || !slices.ContainsFunc(d.options.Settings.Inventories, isOfPlacements) {
		return nil
	}
	lacks := followedPlacements(m)
	var objects []hubObject
	for i, n := range d.options.Settings.Inventories {
		if !isOfPlacements(n) {
			continue
		}
		is, err := d.readServer(ctx, i, n)
		if err != nil {
			problems.Warnf(problem.Pos{}, model.PlacementDecisionKind, "what was decided before stays; retrying", "the API server of inventories[%d] cannot be read: %s", i, text.OneLine(err.Error()))
			return ctx.Err()
		}
		for _, o := range is.hub {
			if o.Kind != model.PlacementDecisionKind {
				objects = append(objects, o)
				continue
			}
			if _, follows := lacks[o.placement()]; follows {
				objects = append(objects, o)
				lacks[o.placement()] = false
			}
		}
	}
	for _, placement := range slices.Sorted(maps.Keys(lacks)) {
		if lacks[placement] {
			problems.Warnf(problem.Pos{}, model.PlacementDecisionKind, "what was decided before stays", "the hub has no %s of the Placement %s", model.PlacementDecisionKind, placement)
			return nil
		}
	}
	p := proposal{
		edit: publish.Edit{Branch: branch.Name, Head: branch.Head, When: branch.When}, branch: "placements/" + environment, mark: "placements of " + environment,
		title: "Follow the Placements of the hub in " + environment, trailer: "Fairlead-Placements: " + environment,
	}
	if len(lacks) > 0 {
		if err := p.fillPlacements(branch, objects); err != nil {
			return err
		}
	}
	return d.propose(ctx, remote, p)
}

func followedPlacements(m *model.Model) map[string]bool {
	all := map[string]bool{}
	for _, p := range m.Policies {
		if p.Choice != nil && p.Choice.Decider.Placement != "" && !p.Choice.Decider.Evaluated {
			all[p.Choice.Decider.Placement] = true
		}
	}
	return all
}

func (p *proposal) fillPlacements(branch source.Branch, objects []hubObject) error {
	data, err := yamldoc.Encode(objects...)
	if err != nil {
		return err
	}
	data = append([]byte("# Imported by Fairlead from the hub of the settings' inventories.\n"), data...)
	file := path.Join(branch.Folder, model.DecisionFolder, placementFile)
	written, there, err := branch.Repo.FindEntry(branch.Head, file)
	if err != nil || there && written.ID == tree.HashBlob(data) {
		return err
	}
	var b strings.Builder
	for _, o := range objects {
		if o.Kind == model.PlacementDecisionKind && o.Status != nil {
			fmt.Fprintf(&b, "- `%s`: %s\n", o.placement(), text.Count(len(o.Status.Decisions), "cluster"))
		}
	}
	p.body = b.String()
	p.edit.Files = map[string][]byte{file: data}
	p.edit.Message = p.title + "\n\n" + p.trailer + "\n"
	return nil
}

func isOfClusters(n config.Inventory) bool {
	_, ok := inventory.FindSource(n.Kind)
	return ok
}
