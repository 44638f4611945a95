// Package leasesim simulates the Leases of an API server, and networks that lose requests and answers.
//
// What the package keeps true: a Lease changes only if its version is that of the request, as in etcd.
package leasesim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-io/fairlead/internal/config/kubeclient"
)

// Server has the Leases of one namespace. The zero value is empty.
type Server struct {
	mu      sync.Mutex
	version int
	leases  map[string]*unstructured.Unstructured
	// Writes counts the changes.
	Writes int
}

// Network is the way of one client to a server.
type Network struct {
	server *Server
	// LosesRequest and LosesAnswer are asked for each request; nil for never.
	LosesRequest, LosesAnswer func() bool
}

var errNetwork = errors.New("the network is down")

// Connect returns a client with a network of its own.
func (s *Server) Connect(t testing.TB) (*kubeclient.Client, *Network) {
	t.Helper()
	n := &Network{server: s}
	c, err := kubeclient.New(&kubeclient.Config{Host: "http://leases.example", Transport: n}, "test")
	if err != nil {
		t.Fatal(err)
	}
	return c, n
}

// RoundTrip answers a request.
func (n *Network) RoundTrip(r *http.Request) (*http.Response, error) {
	if n.LosesRequest != nil && n.LosesRequest() {
		return nil, errNetwork
	}
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
	}
	status, answer := n.server.answer(r, body)
	if n.LosesAnswer != nil && n.LosesAnswer() {
		return nil, errNetwork
	}
	content, err := json.Marshal(answer)
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(content)), Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, err
}

func (s *Server) answer(r *http.Request, body []byte) (int, any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases == nil {
		s.leases = map[string]*unstructured.Unstructured{}
	}
	name := path.Base(r.URL.Path)
	old := s.leases[name]
	sent := &unstructured.Unstructured{}
	if r.Method == http.MethodPost || r.Method == http.MethodPut {
		if err := sent.UnmarshalJSON(body); err != nil {
			return refuse(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		}
	}
	switch {
	case r.Method == http.MethodGet && name == "leases":
		return s.list(r.URL.Query().Get("labelSelector"))
	case r.Method == http.MethodPost && s.leases[sent.GetName()] != nil:
		return refuse(http.StatusConflict, metav1.StatusReasonAlreadyExists, "already exists")
	case r.Method == http.MethodPost:
		return s.put(sent)
	case old == nil:
		return refuse(http.StatusNotFound, metav1.StatusReasonNotFound, "not found")
	case r.Method == http.MethodPut && sent.GetResourceVersion() != old.GetResourceVersion():
		return refuse(http.StatusConflict, metav1.StatusReasonConflict, "it has another version")
	case r.Method == http.MethodPut:
		return s.put(sent)
	case r.Method == http.MethodDelete:
		var o metav1.DeleteOptions
		if json.Unmarshal(body, &o) != nil || o.Preconditions == nil || *o.Preconditions.ResourceVersion != old.GetResourceVersion() {
			return refuse(http.StatusConflict, metav1.StatusReasonConflict, "it has another version")
		}
		delete(s.leases, name)
		return http.StatusOK, metav1.Status{Status: metav1.StatusSuccess}
	}
	return refuse(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, r.Method)
}

func (s *Server) put(sent *unstructured.Unstructured) (int, any) {
	s.version++
	s.Writes++
	sent.SetResourceVersion(strconv.Itoa(s.version))
	s.leases[sent.GetName()] = sent
	return http.StatusOK, sent.Object
}

func (s *Server) list(selector string) (int, any) {
	wanted, err := labels.Parse(selector)
	if err != nil {
		return refuse(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
	}
	items := []any{}
	for _, name := range s.names() {
		if wanted.Matches(labels.Set(s.leases[name].GetLabels())) {
			items = append(items, s.leases[name].Object)
		}
	}
	return http.StatusOK, map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "LeaseList", "metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}, "items": items}
}

func (s *Server) names() []string {
	var all []string
	for name := range s.leases {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// Delete removes Leases whose names have a part, as a person does.
func (s *Server) Delete(part string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.names() {
		if strings.Contains(name, part) {
			delete(s.leases, name)
		}
	}
}

func refuse(status int, reason metav1.StatusReason, message string) (int, any) {
	return status, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: reason, Code: int32(status), Message: fmt.Sprintf("leases.coordination.k8s.io: %s", message),
	}
}
