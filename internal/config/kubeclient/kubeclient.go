// Package kubeclient lists objects of API servers, without types.
//
// What the package keeps true: it writes Leases only; an answer and a list have bounds; and a list that cannot be read completely
// is an error.
package kubeclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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
)

const (
	pageSize    = 500
	readTimeout = 30 * time.Second
	maxResponse = 64 << 20 // bytes
)

// Config is how to reach an API server.
type Config = rest.Config

// LoadConfig returns the configuration of a kubeconfig file and context ("" for the current one),
// or of a pod.
func LoadConfig(kubeconfig, contextName string) (*Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("this is no pod of a cluster: name a file with --kubeconfig")
		}
		return config, err
	}
	return loadRules(&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}, contextName)
}

// LoadUserConfig is LoadConfig for a person: without a file it finds the one that kubectl uses.
func LoadUserConfig(kubeconfig, contextName string) (*Config, error) {
	if kubeconfig != "" {
		return LoadConfig(kubeconfig, contextName)
	}
	return loadRules(clientcmd.NewDefaultClientConfigLoadingRules(), contextName)
}

func loadRules(rules clientcmd.ClientConfigLoader, contextName string) (*Config, error) {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: contextName}).ClientConfig()
}

// Client reads the objects of one API server.
type Client struct {
	config *Config
	client dynamic.Interface
}

// New returns a client that has not connected yet. userAgent names the program.
func New(config *Config, userAgent string) (*Client, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = userAgent
	config.Timeout = readTimeout
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{} // warnings about old versions
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return boundedTransport{inner} })
	c := &Client{config: config}
	return c, c.Reconnect()
}

// Reconnect rereads the token.
func (c *Client) Reconnect() (err error) {
	c.client, err = dynamic.NewForConfig(c.config)
	if err != nil {
		return fmt.Errorf("reach the cluster: %w", err)
	}
	return nil
}

// ReadUID returns the uid of the namespace kube-system, which identifies a cluster.
func (c *Client) ReadUID(ctx context.Context) (string, error) {
	namespace, err := c.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).
		Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read the namespace %s, whose uid identifies the cluster: %w", metav1.NamespaceSystem, err)
	}
	return string(namespace.GetUID()), nil
}

// Query selects the objects of a resource.
type Query struct {
	Group     string
	Versions  []string // the newest first; the first that is installed counts
	Resource  string
	Namespace string // "" for all
	Labels    string // a selector; "" for all
	// Cached takes what the API server has in memory: it may lag slightly, but does not burden etcd.
	Cached bool
	// Most bounds the objects; 0 for no bound.
	Most int
	// Fields are the first keys of objects that are kept, in addition to apiVersion, kind and metadata; nil keeps all.
	Fields []string
}

// List returns the objects of a query. The error of a resource that is not installed is [apierrors.IsNotFound].
func (c *Client) List(ctx context.Context, q Query) (all []json.RawMessage, err error) {
	for _, version := range q.Versions {
		resource := schema.GroupVersionResource{Group: q.Group, Version: version, Resource: q.Resource}
		all, err = c.listPages(ctx, q, resource, pageSize)
		if apierrors.IsResourceExpired(err) { // a page has expired
			all, err = c.listPages(ctx, q, resource, 0)
		}
		if !apierrors.IsNotFound(err) {
			return all, err
		}
	}
	return nil, err
}

// listPages reads size objects per page; 0 for no limit.
func (c *Client) listPages(ctx context.Context, q Query, resource schema.GroupVersionResource, size int64) ([]json.RawMessage, error) {
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		if q.Namespace != "" {
			return c.client.Resource(resource).Namespace(q.Namespace).List(ctx, o)
		}
		return c.client.Resource(resource).List(ctx, o)
	})
	pages.PageSize = size
	options := metav1.ListOptions{LabelSelector: q.Labels}
	if q.Cached {
		options.ResourceVersion = "0"
	}
	var all []json.RawMessage
	err := pages.EachListItem(ctx, options, func(o runtime.Object) error {
		u, ok := o.(*unstructured.Unstructured)
		switch {
		case !ok:
			return fmt.Errorf("an object is a %T", o)
		case q.Most > 0 && len(all) >= q.Most:
			return fmt.Errorf("%s has more than %d objects", q.Resource, q.Most)
		}
		u.SetManagedFields(nil) // large and useless here
		content, err := q.reduce(u).MarshalJSON()
		all = append(all, content)
		return err
	})
	return all, err
}

func (q Query) reduce(u *unstructured.Unstructured) *unstructured.Unstructured {
	if q.Fields == nil {
		return u
	}
	kept := map[string]any{}
	for _, field := range append([]string{"apiVersion", "kind", "metadata"}, q.Fields...) {
		if value, ok := u.Object[field]; ok {
			kept[field] = value
		}
	}
	return &unstructured.Unstructured{Object: kept}
}

// boundedTransport ends answers that are too large.
type boundedTransport struct{ inner http.RoundTripper }

// RoundTrip sends a request.
func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.inner.RoundTrip(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxResponse)
	}
	return answer, err
}
