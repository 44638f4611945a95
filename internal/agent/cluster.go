package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/config/kubeclient"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/ledger/kubestatus"
)

// tolerated is the number of consecutive failures after which a kind is reported as unreadable.
const tolerated = 3

// Cluster reads the objects of a cluster.
type Cluster struct {
	client   *kubeclient.Client
	uid      string
	failures map[string]int // consecutive, by kind
}

// NewCluster returns the cluster of an API server.
func NewCluster(config *kubeclient.Config, version string) (*Cluster, error) {
	client, err := kubeclient.New(config, "fairlead-agent/"+version)
	return &Cluster{client: client, failures: map[string]int{}}, err
}

// Read returns the state of the objects and the cluster's uid. It fails if the cluster as a whole
// cannot be read.
func (c *Cluster) Read(ctx context.Context, now time.Time) (agentapi.State, string, error) {
	state, err := c.readState(ctx, now)
	if apierrors.IsUnauthorized(err) { // the cached token may have been replaced
		err = errors.Join(err, c.client.Reconnect())
	}
	return state, c.uid, err
}

func (c *Cluster) readState(ctx context.Context, now time.Time) (agentapi.State, error) {
	if c.uid == "" {
		uid, err := c.client.ReadUID(ctx)
		if err != nil {
			return agentapi.State{}, err
		}
		c.uid = uid
	}
	objects := map[string][]json.RawMessage{}
	var unread []agentapi.Unread
	for _, kind := range kubestatus.Kinds() {
		found, err := c.readKind(ctx, kind)
		switch {
		case err == nil:
			c.failures[kind.Name] = 0
			objects[kind.Name] = found
			continue
		case ctx.Err() != nil:
			return agentapi.State{}, ctx.Err()
		}
		c.failures[kind.Name]++
		if apierrors.IsUnauthorized(err) || !apierrors.IsForbidden(err) && c.failures[kind.Name] < tolerated {
			return agentapi.State{}, fmt.Errorf("list %s: %w", kind.Resource, err)
		}
		unread = append(unread, agentapi.Unread{Kind: kind.Name, Reason: text.Shorten(text.OneLine(err.Error()), 300)})
	}
	if len(unread) == len(kubestatus.Kinds()) {
		return agentapi.State{}, fmt.Errorf("no kind of objects can be listed; the first one: %s", unread[0].Reason)
	}
	return agentapi.NewState(kubestatus.Read(objects, now), unread), nil
}

func (c *Cluster) readKind(ctx context.Context, kind kubestatus.Kind) ([]json.RawMessage, error) {
	found, err := c.client.List(ctx, kubeclient.Query{Group: kind.Group, Versions: kind.Versions, Resource: kind.Resource, Cached: true})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}
