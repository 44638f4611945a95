package ledger_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// TestDrift: what is wanted of a cluster's type and is not there is missing if an agent reports, what is
// there and was dropped is unwanted, and what Rancher Fleet says was changed is modified.
func TestDrift(t *testing.T) {
	noon := time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)
	wanted := []ledger.WantedObject{
		{ClusterType: "large", Name: "Kustomization/a", Target: "a"}, {ClusterType: "large", Name: "Kustomization/b", Target: "b"},
		{ClusterType: "large", Name: "Kustomization/old", Target: "old", Dropped: true}, {ClusterType: "small", Name: "Kustomization/s", Target: "s"},
	}
	const modified = "Modified(1): deployment.apps shop/web"
	for _, c := range []struct {
		name        string
		environment string
		clusterType string
		boot        string // "" for events
		has         string // names of objects; with ! the failed ones
		message     string // of those that have failed
		gone        string
		want        string
	}{
		{"all is as wanted", "prod", "large", "1", "Kustomization/a Kustomization/b", "", "", ""},
		{"missing", "prod", "large", "1", "Kustomization/a", "", "", "missing Kustomization/b b"},
		{"gone", "prod", "large", "1", "Kustomization/a Kustomization/b", "", "Kustomization/a", "missing Kustomization/a a"},
		{"failed is there", "prod", "large", "1", "Kustomization/a Kustomization/b!", "x", "", ""},
		{"nothing is there", "prod", "large", "1", "", "", "", "missing Kustomization/a a, missing Kustomization/b b"},
		{"nothing is known without an agent", "prod", "large", "", "Kustomization/a", "", "", ""},
		{"unwanted", "prod", "large", "1", "Kustomization/a Kustomization/b Kustomization/old", "", "", "unwanted Kustomization/old old"},
		{"unwanted without an agent", "prod", "large", "", "Kustomization/old", "", "", "unwanted Kustomization/old old"},
		{"unwanted and gone", "prod", "large", "1", "Kustomization/a Kustomization/b Kustomization/old", "", "Kustomization/old", ""},
		{"another type", "prod", "small", "1", "Kustomization/old Kustomization/other", "", "", "missing Kustomization/s s"},
		{"a type of which nothing is wanted", "prod", "tiny", "1", "Kustomization/old", "", "", ""},
		{"another environment", "stage", "large", "1", "Kustomization/old", "", "", ""},
		{"modified", "prod", "tiny", "1", "BundleDeployment/x! GitRepo/y!", modified, "", "modified BundleDeployment/x " + modified + ", modified GitRepo/y " + modified},
		{"modified without an agent", "prod", "tiny", "", "GitRepo/y!", modified, "", "modified GitRepo/y " + modified},
		{"modified, of another tool", "prod", "tiny", "1", "Kustomization/a! BundleDeploymentX/x!", modified, "", ""},
		{"failed otherwise", "prod", "tiny", "1", "GitRepo/y!", "not found", "", ""},
		{"not failed", "prod", "tiny", "1", "GitRepo/y", modified, "", ""},
	} {
		l := ledger.New(100)
		contact := ledger.Contact{
			Name: "e1", Group: ledger.Group{Environment: c.environment, ClusterType: c.clusterType}, Platform: "P", Every: time.Minute, Boot: c.boot,
			Sequence: 1, Sent: noon, Received: noon,
		}
		var reports []ledger.Report
		for name := range strings.FieldsSeq(c.has) {
			r := ledger.Report{Object: ledger.Object{Name: strings.TrimSuffix(name, "!")}, Phase: ledger.Ready, Target: "B", Message: c.message, Level: true, Said: noon}
			if strings.HasSuffix(name, "!") {
				r.Phase = ledger.Failed
			}
			reports = append(reports, r)
		}
		l.Receive(contact, reports)
		if c.gone != "" {
			contact.Sequence, contact.Scope, contact.Gone = 2, ledger.Changes, []string{c.gone}
			l.Receive(contact, nil)
		}
		var got []string
		for _, d := range l.FindDrift("prod", wanted) {
			if d.Cluster != "e1" || d.ClusterType != c.clusterType {
				t.Errorf("%s: %+v", c.name, d)
			}
			got = append(got, fmt.Sprint(d.Kind, " ", d.Object, " ", d.Target, d.Message))
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
