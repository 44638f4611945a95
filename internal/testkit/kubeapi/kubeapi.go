// Package kubeapi is a Kubernetes API server for tests: it answers get and list requests over HTTP as
// a real one does, with pages, tokens, and the errors for what is not installed or not allowed.
//
// What the package keeps true: objects are answered as they were put in; a request that a real server
// would refuse is refused with a Status, as clients expect it.
package kubeapi

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// Server is the API server of one cluster.
type Server struct {
	URL string
	// CA is the certificate of a server that was started with TLS, as PEM.
	CA []byte

	mu        sync.Mutex
	uid       string
	installed map[string]bool     // resources, as "kustomizations.v1.kustomize.toolkit.fluxcd.io"
	objects   map[string][]object // by resource
	refusals  map[string]int      // the status of each list of a resource
	tokens    []string            // that are good; none for any
	requests  []string
	version   int
	expired   bool // whether the next continue token has expired
}

// Start starts a server, and stops it when the test ends. uid is that of the namespace kube-system.
func Start(t testing.TB, uid string) *Server {
	t.Helper()
	s := newServer(uid)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// StartTLS is Start, with TLS.
func StartTLS(t testing.TB, uid string) *Server {
	t.Helper()
	s := newServer(uid)
	server := httptest.NewTLSServer(s)
	t.Cleanup(server.Close)
	s.URL, s.CA = server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return s
}

func newServer(uid string) *Server {
	return &Server{uid: uid, installed: map[string]bool{}, objects: map[string][]object{}, refusals: map[string]int{}}
}

// resourceNames are the names of the resources of kinds.
var resourceNames = map[string]string{
	"Application": "applications", "BundleDeployment": "bundledeployments", "GitRepo": "gitrepos", "GitRepository": "gitrepositories",
	"HelmRelease": "helmreleases", "Kustomization": "kustomizations", "OCIRepository": "ocirepositories", "Terraform": "terraforms",
	"ClusterProfile": "clusterprofiles", "ManagedCluster": "managedclusters", "PlacementDecision": "placementdecisions", "Secret": "secrets",
}

// object is an object as it was put in.
type object struct {
	head
	raw json.RawMessage
}

// head is what a server reads of an object.
type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace string            `json:"namespace"`
		Name      string            `json:"name"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
}

func (h head) resource() string {
	group, version, found := strings.Cut(h.APIVersion, "/")
	if !found {
		group, version = "", group
	}
	return resourceNames[h.Kind] + "." + version + "." + group
}

// Install makes the resource of a kind known, as a CustomResourceDefinition does.
func (s *Server) Install(apiVersion, kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.installed[head{APIVersion: apiVersion, Kind: kind}.resource()] = true
}

// Put puts the objects of YAML documents in, in the place of those with the same names.
func (s *Server) Put(t testing.TB, documents string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for document := range strings.SplitSeq(documents, "\n---\n") {
		content, err := yaml.YAMLToJSON([]byte(document))
		var h head
		if err == nil {
			err = json.Unmarshal(content, &h)
		}
		if err != nil || resourceNames[h.Kind] == "" {
			t.Fatalf("read an object: %v\n%s", err, document)
		}
		s.version++
		s.installed[h.resource()] = true
		s.remove(h)
		s.objects[h.resource()] = append(s.objects[h.resource()], object{h, content})
	}
}

// Delete removes an object, by its kind, namespace and name.
func (s *Server) Delete(kind, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for resource := range s.objects {
		if strings.HasPrefix(resource, resourceNames[kind]+".") {
			group := strings.SplitN(resource, ".", 3)
			h := head{APIVersion: group[2] + "/" + group[1], Kind: kind}
			h.Metadata.Namespace, h.Metadata.Name = namespace, name
			s.remove(h)
		}
	}
}

func (s *Server) remove(h head) {
	s.objects[h.resource()] = slices.DeleteFunc(s.objects[h.resource()], func(o object) bool {
		return o.Metadata.Namespace == h.Metadata.Namespace && o.Metadata.Name == h.Metadata.Name
	})
}

// Refuse answers each list of the resource of a kind with a status; 0 ends that.
func (s *Server) Refuse(kind string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals[resourceNames[kind]] = status
}

// SetTokens lets in those with one of the tokens, and nobody else.
func (s *Server) SetTokens(tokens ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = tokens
}

// ExpireContinue answers the next request for a further page with 410 Gone.
func (s *Server) ExpireContinue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired = true
}

// Requests returns the paths and queries of all requests.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.URL.RequestURI())
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); {
	case len(s.tokens) > 0 && !slices.Contains(s.tokens, token):
		writeStatus(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized")
	case r.Method != http.MethodGet:
		writeStatus(w, http.StatusForbidden, metav1.StatusReasonForbidden, "the agent may only read")
	case r.URL.Path == "/api/v1/namespaces/kube-system":
		writeJSON(w, http.StatusOK, map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "kube-system", "uid": s.uid},
		})
	case len(parts) == 4 && parts[0] == "apis":
		s.serveList(w, r, parts[3], parts[2], parts[1], "")
	case len(parts) == 6 && parts[0] == "apis" && parts[3] == "namespaces":
		s.serveList(w, r, parts[5], parts[2], parts[1], parts[4])
	case len(parts) == 3 && parts[0] == "api":
		s.serveList(w, r, parts[2], parts[1], "", "")
	case len(parts) == 5 && parts[0] == "api" && parts[2] == "namespaces":
		s.serveList(w, r, parts[4], parts[1], "", parts[3])
	default:
		writeStatus(w, http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	}
}

// serveList answers with the objects of a resource, of one namespace if one is given. With a limit it answers with pages, unless the
// client accepts what is in memory (resourceVersion=0), as servers do.
func (s *Server) serveList(w http.ResponseWriter, r *http.Request, name, version, group, namespace string) {
	resource := name + "." + version + "." + group
	code := s.refusals[name]
	switch {
	case code == http.StatusForbidden:
		writeStatus(w, code, metav1.StatusReasonForbidden, fmt.Sprintf("%s.%s is forbidden: User \"system:serviceaccount:fairlead:fairlead-agent\" "+
			"cannot list resource %q in API group %q at the cluster scope", name, group, name, group))
		return
	case code != 0:
		writeStatus(w, code, metav1.StatusReasonInternalError, "conversion webhook failed")
		return
	case !s.installed[resource]:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintln(w, "404 page not found")
		return
	}
	query := r.URL.Query()
	selector, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		writeStatus(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	all, from := []object{}, 0
	for _, o := range s.objects[resource] {
		if (namespace == "" || o.Metadata.Namespace == namespace) && selector.Matches(labels.Set(o.Metadata.Labels)) {
			all = append(all, o)
		}
	}
	limit, _ := strconv.Atoi(query.Get("limit"))
	if token := query.Get("continue"); token != "" {
		if s.expired {
			s.expired = false
			writeStatus(w, http.StatusGone, metav1.StatusReasonExpired, "The provided continue parameter is too old")
			return
		}
		from, _ = strconv.Atoi(token)
	}
	if limit == 0 {
		limit = len(all)
	}
	to := min(from+limit, len(all))
	list := map[string]any{"resourceVersion": strconv.Itoa(s.version)}
	if to < len(all) {
		list["continue"], list["remainingItemCount"] = strconv.Itoa(to), len(all)-to
	}
	items := []json.RawMessage{}
	for _, o := range all[from:to] {
		items = append(items, o.raw)
	}
	writeJSON(w, http.StatusOK, map[string]any{"apiVersion": strings.TrimPrefix(group+"/"+version, "/"), "kind": "List", "metadata": list, "items": items})
}

func writeStatus(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	writeJSON(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	})
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // the client has gone
}
