package clusters_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// BenchmarkResolve checks a manifest of 100 clusters with 100 pools each.
func BenchmarkResolve(b *testing.B) {
	var text, listed strings.Builder
	text.WriteString("apiVersion: claudie.io/v1beta1\nkind: InputManifest\nmetadata: {name: edge, annotations: {fairlead.io/existing-secrets: fleet/hetzner}}\nspec:\n" +
		"  providers: [{name: htz, providerType: hetzner, secretRef: {name: hetzner, namespace: fleet}}]\n  nodePools:\n    dynamic:\n")
	for c := range 100 {
		var pools []string
		for p := range 100 {
			name := fmt.Sprintf("p-%d-%d", c, p)
			fmt.Fprintf(&text, "      - {name: %s, providerSpec: {name: htz, region: hel1}, count: 1, serverType: cpx11, image: ubuntu-24.04}\n", name)
			pools = append(pools, name)
		}
		fmt.Fprintf(&listed, "      - {name: c-%d, version: 1.36.0, network: 172.16.0.0/20, pools: {control: [%s], compute: [%s]}}\n", c, pools[0], strings.Join(pools[1:], ", "))
	}
	text.WriteString("  kubernetes:\n    clusters:\n" + listed.String())
	files := tree.FromEntries([]tree.Entry{tree.File("edge.yaml", []byte(text.String()))})
	m, _ := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: files})
	for b.Loop() {
		if _, problems := clusters.Resolve(m); problems.Stops() {
			b.Fatal(problems)
		}
	}
}
