package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
	"github.com/fairlead-io/fairlead/internal/server/web"
)

// reportClusters returns the source of a fleet in which so many clusters have reported: each 29th fails, each 13th is behind.
func reportClusters(environments, types, clusters int) answer.Source {
	s := answer.Source{Ledger: true, Now: noon}
	for i := range environments {
		s.Snapshot.Environments = append(s.Snapshot.Environments, status.Environment{Name: fmt.Sprintf("prod-%02d", i)})
	}
	for i := range clusters {
		c := fleetview.Cluster{Name: fmt.Sprintf("store-%04d", i), Environment: fmt.Sprintf("prod-%02d", i%environments), Type: fmt.Sprintf("type-%03d", i%types), Standing: "ready", Revision: "main@sha1:" + older, LastSeen: noon, Since: noon.Add(-time.Hour)}
		switch {
		case i%29 == 1:
			c.Standing, c.Why = "failed", "timeout waiting for Deployment/checkout"
		case i%13 == 0:
			c.Standing = "behind"
		}
		s.Reported = append(s.Reported, c)
	}
	return s
}

// clustersPage is the page of all clusters.
const clustersPage = "/clusters"

// TestClusters: the list of clusters can be read with 3 and with 2,000 of them, in one environment and in 40.
func TestClusters(t *testing.T) {
	browser := Start(t)
	for _, size := range []struct{ environments, types, clusters int }{{1, 1, 3}, {40, 200, 2000}} {
		of := reportClusters(size.environments, size.types, size.clusters)
		rest := web.New(web.Options{Store: &status.Store{}, Version: "1.2.3"})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != clustersPage {
				rest.ServeHTTP(w, r)
				return
			}
			list := page.Listed{Tabled: of.ListClusters(answer.ClusterFilter{}), Template: "clusters", Query: url.Values{}, Environments: of.Names()}
			kept, err := page.Render(page.Frame{Path: clustersPage, Product: "1.2.3"}, list)
			if err != nil {
				t.Error(err)
			}
			body, _ := kept.For(page.Reader{})
			_, _ = w.Write(body)
		}))
		t.Cleanup(server.Close)
		w := browser.Open(t, View{Width: 1280})
		w.Visit(server.URL + clustersPage)
		checkTop(t, w, fmt.Sprintf("size-%d-clusters.png", size.clusters))
		for _, v := range fourViews {
			w := browser.Open(t, v)
			w.Visit(server.URL + clustersPage)
			w.WaitFor("caption", fmt.Sprintf("%d cluster", size.clusters))
			w.WaitFor("main tbody tr td", "failed") // the most urgent first
			checkWidth(t, w, v.Width, clustersPage)
			checkAccessible(t, w, clustersPage)
			w.keepPicture(fmt.Sprintf("clusters-%d-%d-%v.png", size.clusters, v.Width, v.Dark))
		}
	}
}
