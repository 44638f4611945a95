package kubeclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Lease is a Lease of coordination.k8s.io.
type Lease struct {
	Namespace, Name string
	Version         string // resourceVersion; "" for a new one
	Labels          map[string]string
	Holder          string // "" for nobody
	Seconds         int64
	Renewed         time.Time
	Transitions     int64
	Note            string // in an annotation
}

// ErrConflict means that a Lease has changed since it was read.
var ErrConflict = errors.New("the Lease has changed meanwhile")

const leaseNote = "fairlead.io/note"

func (c *Client) leases(namespace string) dynamic.ResourceInterface {
	return c.client.Resource(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}).Namespace(namespace)
}

// ListLeases returns the Leases of a namespace with labels, as they are in etcd.
func (c *Client) ListLeases(ctx context.Context, namespace, labels string) ([]Lease, error) {
	list, err := c.leases(namespace).List(ctx, metav1.ListOptions{LabelSelector: labels})
	if err != nil {
		return nil, fmt.Errorf("list Leases: %w", err)
	}
	all := make([]Lease, len(list.Items))
	for i := range list.Items {
		all[i] = readLease(&list.Items[i])
	}
	return all, nil
}

// PutLease creates a Lease or replaces the version that was read, and returns what is there then. The error is
// ErrConflict if there is another version.
func (c *Client) PutLease(ctx context.Context, l Lease) (Lease, error) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": map[string]any{"namespace": l.Namespace, "name": l.Name, "annotations": map[string]any{leaseNote: l.Note}},
		"spec": map[string]any{
			"holderIdentity": l.Holder, "leaseDurationSeconds": l.Seconds, "leaseTransitions": l.Transitions,
			"renewTime": l.Renewed.UTC().Format("2006-01-02T15:04:05.000000Z"),
		},
	}}
	object.SetLabels(l.Labels)
	var made *unstructured.Unstructured
	var err error
	if l.Version == "" {
		made, err = c.leases(l.Namespace).Create(ctx, object, metav1.CreateOptions{})
	} else {
		object.SetResourceVersion(l.Version)
		made, err = c.leases(l.Namespace).Update(ctx, object, metav1.UpdateOptions{})
	}
	if err != nil {
		return Lease{}, describeLeaseError(err)
	}
	return readLease(made), nil
}

// DeleteLease deletes the version of a Lease that was read.
func (c *Client) DeleteLease(ctx context.Context, l Lease) error {
	return describeLeaseError(c.leases(l.Namespace).Delete(ctx, l.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &l.Version}}))
}

func describeLeaseError(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return err
}

func readLease(u *unstructured.Unstructured) Lease {
	l := Lease{Namespace: u.GetNamespace(), Name: u.GetName(), Version: u.GetResourceVersion(), Labels: u.GetLabels(), Note: u.GetAnnotations()[leaseNote]}
	l.Holder, _, _ = unstructured.NestedString(u.Object, "spec", "holderIdentity")
	l.Seconds, _, _ = unstructured.NestedInt64(u.Object, "spec", "leaseDurationSeconds")
	l.Transitions, _, _ = unstructured.NestedInt64(u.Object, "spec", "leaseTransitions")
	renewed, _, _ := unstructured.NestedString(u.Object, "spec", "renewTime")
	l.Renewed, _ = time.Parse(time.RFC3339Nano, renewed)
	return l
}
