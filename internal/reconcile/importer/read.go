// Package importer reads inventories of clusters, and proposes what follows from them for the control plane.
//
// What the package keeps true: an inventory that cannot be read completely changes nothing; and a cluster that an
// inventory has lost is removed by a person, who merges the pull request that names it.
package importer

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/config/kubeclient"
	"github.com/fairlead-io/fairlead/internal/controlplane/inventory"
)

// maxObjects bounds the objects of one kind of an API server.
const maxObjects = 20_000

// ReadClusters returns the clusters that an API server has objects of a kind for, in one namespace or in all.
func ReadClusters(ctx context.Context, client *kubeclient.Client, place string, s inventory.Source, namespace string) ([]inventory.Cluster, problem.List, error) {
	objects, err := client.List(ctx, kubeclient.Query{
		Group: s.Group, Versions: s.Versions, Resource: s.Resource, Namespace: namespace, Labels: s.Labels, Most: maxObjects, Fields: s.Fields,
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil, problem.Refusef("name another kind of "+text.Join(inventory.SourceKinds(), " or "), "%s has no %s", place, s.Resource)
	case err != nil:
		return nil, nil, fmt.Errorf("list %s of %s: %w", s.Resource, place, err)
	}
	clusters, problems := inventory.ReadObjects(place, s, objects)
	return clusters, problems, nil
}
