package kubeclient

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
)

// TestList: what a query selects is returned, reduced to what is asked for, and within its bound.
func TestList(t *testing.T) {
	resource := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	var objects []runtime.Object
	for i := range 12 {
		objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget", "spec": map[string]any{"secret": "hunter2"}, "status": map[string]any{"n": int64(i)},
			"metadata": map[string]any{"name": fmt.Sprintf("w-%02d", i), "namespace": []string{"a", "b"}[i%2], "labels": map[string]any{"third": fmt.Sprint(i%3 == 0)}},
		}})
	}
	c := &Client{client: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{resource: "WidgetList"}, objects...)}
	query := Query{Group: "example.com", Versions: []string{"v1"}, Resource: "widgets"}
	for _, test := range []struct {
		name   string
		change func(*Query)
		want   int
		err    string
	}{
		{"all", func(*Query) {}, 12, ""},
		{"a namespace", func(q *Query) { q.Namespace = "a" }, 6, ""},
		{"labels", func(q *Query) { q.Labels = "third=true" }, 4, ""},
		{"as many as may be", func(q *Query) { q.Most = 12 }, 12, ""},
		{"too many", func(q *Query) { q.Most = 11 }, 11, "more than 11 objects"},
	} {
		q := query
		test.change(&q)
		q.Fields = []string{"status"}
		got, err := c.List(t.Context(), q)
		if len(got) != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %d objects, %v", test.name, len(got), err)
		}
		if strings.Contains(fmt.Sprintf("%s", got), "hunter2") || !strings.Contains(fmt.Sprintf("%s", got), `"status"`) {
			t.Errorf("%s: it has %s", test.name, got)
		}
	}
}

// TestUnlimitedAnswer: an answer that does not end is an error.
func TestUnlimitedAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(r.URL.Path, "/v2/") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		for range maxResponse/1_000_000 + 2 {
			if _, err := w.Write([]byte(strings.Repeat(" ", 1_000_000))); err != nil {
				return
			}
		}
		fmt.Fprint(w, `{"apiVersion": "example.com/v1", "kind": "WidgetList", "items": []}`)
	}))
	t.Cleanup(server.Close)
	c, err := New(&Config{Host: server.URL}, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.List(t.Context(), Query{Group: "example.com", Versions: []string{"v2", "v1"}, Resource: "widgets"}); err == nil || errors.IsNotFound(err) {
		t.Errorf("the error is %v", err)
	}
}
