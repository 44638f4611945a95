package clusters_test

import (
	"fmt"
	"strings"
	"testing"
)

// limitsText is a manifest with one static pool, the rest of which is formatted in.
const limitsText = `# sealed: fleet/nodes privatekey
apiVersion: scheduler.kalypso.io/v1alpha1
kind: GitOpsRepo
metadata: {name: dev}
spec: {repo: https://example.com/gull/gitops, branch: dev, path: .}
---
apiVersion: claudie.io/v1beta1
kind: InputManifest
metadata:
  name: edge
  namespace: fleet
  annotations: {fairlead.io/existing-secrets: fleet/hetzner}
spec:
  providers: [{name: htz, providerType: hetzner, secretRef: {name: hetzner, namespace: fleet}}]
  nodePools:
    dynamic: [{name: lb, providerSpec: {name: htz, region: hel1}, count: 1, serverType: cpx11, image: ubuntu-24.04}]
    static: [%s]
  kubernetes:
    clusters: [%s]
  loadBalancers:
    roles: [%s]
    clusters: [{name: lb, targetedK8s: c-0, pools: [lb], dns: {dnsZone: example.com, provider: htz}, roles: [%s]}]
`

// TestLimits exceeds what there may be many of by one.
func TestLimits(t *testing.T) {
	repeat := func(n int, format string) string {
		var all []string
		for i := range n {
			all = append(all, strings.ReplaceAll(format, "#", fmt.Sprint(i)))
		}
		return strings.Join(all, ", ")
	}
	pool := func(name string, nodes, annotation int) string {
		list := repeat(nodes, "{endpoint: \"2001:db8::#\", secretRef: {name: nodes, namespace: fleet}}")
		return fmt.Sprintf("{name: %s, annotations: {note: %q}, nodes: [%s]}", name, strings.Repeat("x", annotation), list)
	}
	cluster := func(i int) string {
		return fmt.Sprintf("{name: c-%d, version: 1.36.0, network: 172.16.0.0/20, pools: {control: [p-%d], compute: []}}", i, i)
	}
	cases := []struct {
		name                               string
		clusters, nodes, annotation, roles int
		want                               string
	}{
		{"nothing", 1, 1, 1, 1, ""},
		{"100 clusters", 100, 1, 1, 1, ""},
		{"101 clusters", 101, 1, 1, 1, "there are 101 clusters, and 100 is the limit"},
		{"255 nodes", 1, 255, 1, 1, ""},
		{"256 nodes", 1, 256, 1, 1, "pool p-0 has 256 nodes, and 255 is the limit"},
		{"256 KiB of annotations", 1, 1, 256<<10 - len("note"), 1, ""},
		{"more than 256 KiB of annotations", 1, 1, 256<<10 - len("note") + 1, 1, "pool p-0: the annotations are 262145 bytes long, and 262144 is the limit"},
		{"1018 roles", 1, 1, 1, 1018, ""},
		{"1019 roles", 1, 1, 1, 1019, "load balancer lb has 1019 roles, and 1018 is the limit"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			var pools, clusters []string
			for i := range test.clusters {
				p := pool(fmt.Sprintf("p-%d", i), test.nodes, test.annotation)
				pools, clusters = append(pools, strings.ReplaceAll(p, "db8::", fmt.Sprintf("db8:%d::", i))), append(clusters, cluster(i))
			}
			_, problems := resolveText(fmt.Sprintf(limitsText, strings.Join(pools, ", "), strings.Join(clusters, ", "),
				repeat(test.roles, "{name: r-#, protocol: udp, port: #1, targetPort: 53, targetPools: [p-0]}"), repeat(test.roles, "r-#")))
			var stops []string
			for _, p := range problems {
				if !p.Warning {
					stops = append(stops, p.Summary)
				}
			}
			if got := strings.Join(stops, "; "); got != test.want {
				t.Errorf("got %.300q, want %q", got, test.want)
			}
		})
	}
}
