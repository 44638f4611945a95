package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/pager"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/ledger/kubestatus"
)

const (
	// pageSize is how many objects are asked for at once.
	pageSize = 500
	// readTimeout is how long one request to the API server may take.
	readTimeout = 30 * time.Second
	// tolerated is how often a kind may fail to be read, one time after the other, before it is
	// reported as one that cannot be read.
	tolerated = 3
)

// Cluster reads the objects of a cluster.
type Cluster struct {
	config   *rest.Config
	client   dynamic.Interface
	uid      string         // "" until it was read
	failures map[string]int // by kind, one after the other
}

// LoadConfig returns how to reach an API server: by a kubeconfig file and one of its contexts ("" for
// the current one), or else as a pod of the cluster.
func LoadConfig(kubeconfig, contextName string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("this is no pod of a cluster: name a file with --kubeconfig")
		}
		return config, err
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: contextName}).ClientConfig()
}

// NewCluster returns the cluster of an API server.
func NewCluster(config *rest.Config, version string) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = "fairlead-agent/" + version
	config.Timeout = readTimeout
	config.QPS = -1                           // requests come one after the other
	config.WarningHandler = rest.NoWarnings{} // about versions that only an old Flux has
	c := &Cluster{config: config, failures: map[string]int{}}
	return c, c.connect()
}

// connect makes a new client, which reads the token anew.
func (c *Cluster) connect() (err error) {
	c.client, err = dynamic.NewForConfig(c.config)
	if err != nil {
		return fmt.Errorf("reach the cluster: %w", err)
	}
	return nil
}

// Read returns the state of the objects, and the uid of the cluster. It fails if nothing can be said
// of the cluster as a whole.
func (c *Cluster) Read(ctx context.Context, now time.Time) (agentapi.State, string, error) {
	state, err := c.readState(ctx, now)
	if apierrors.IsUnauthorized(err) { // the token is cached for a minute, and may have been replaced
		err = errors.Join(err, c.connect())
	}
	return state, c.uid, err
}

func (c *Cluster) readState(ctx context.Context, now time.Time) (agentapi.State, error) {
	if c.uid == "" {
		namespace, err := c.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).
			Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		if err != nil {
			return agentapi.State{}, fmt.Errorf("read the namespace %s, whose uid identifies the cluster: %w", metav1.NamespaceSystem, err)
		}
		c.uid = string(namespace.GetUID())
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

// readKind returns all objects of a kind, in the newest version that is installed; none if none is.
func (c *Cluster) readKind(ctx context.Context, kind kubestatus.Kind) ([]json.RawMessage, error) {
	for _, version := range kind.Versions {
		found, err := c.listAll(ctx, schema.GroupVersionResource{Group: kind.Group, Version: version, Resource: kind.Resource})
		if !apierrors.IsNotFound(err) {
			return found, err
		}
	}
	return nil, nil
}

// listAll returns all objects of a resource, page by page. If a page has expired they are read anew, all
// at once.
func (c *Cluster) listAll(ctx context.Context, resource schema.GroupVersionResource) ([]json.RawMessage, error) {
	all, err := c.listPages(ctx, resource, pageSize)
	if apierrors.IsResourceExpired(err) {
		return c.listPages(ctx, resource, 0)
	}
	return all, err
}

// listPages returns all objects of a resource, so many at a time; 0 for no limit. They come from the
// memory of the API server, which may be behind for a moment, and cost its store nothing.
func (c *Cluster) listPages(ctx context.Context, resource schema.GroupVersionResource, size int64) ([]json.RawMessage, error) {
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.client.Resource(resource).List(ctx, o)
	})
	pages.PageSize = size
	var all []json.RawMessage
	err := pages.EachListItem(ctx, metav1.ListOptions{ResourceVersion: "0"}, func(o runtime.Object) error {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("an object is a %T", o)
		}
		u.SetManagedFields(nil) // large, and of no use here
		content, err := u.MarshalJSON()
		all = append(all, content)
		return err
	})
	return all, err
}
