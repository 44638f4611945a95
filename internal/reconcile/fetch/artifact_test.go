package fetch_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/fairlead-io/fairlead/internal/change/inside"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/fetch"
	"github.com/fairlead-io/fairlead/internal/testkit/charttest"
)

const (
	chartLayer    = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	manifestLayer = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

func serveRegistry(t *testing.T) string {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// push pushes an artifact of one layer, and returns its digest.
func push(t *testing.T, reference, mediaType string, packed []byte) string {
	t.Helper()
	image, err := mutate.AppendLayers(empty.Image, static.NewLayer(packed, types.MediaType(mediaType)))
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, image); err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

func artifact(url, ref, path string) string {
	return fmt.Sprintf(`apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: shop}
spec: {url: %q, ref: {%s}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop}
spec: {path: %q, sourceRef: {kind: OCIRepository, name: shop}}
`, url, ref, path)
}

func chartArtifact(url, version string) string {
	return fmt.Sprintf(`apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: shop}
spec: {url: %q, ref: {semver: %q}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: shop}
spec:
  chartRef: {kind: OCIRepository, name: shop}
  values: {size: 3}
`, url, version)
}

func TestArtifact(t *testing.T) {
	host := serveRegistry(t)
	manifests := func(files map[string]string) string {
		named := map[string]string{}
		for name, text := range files {
			named["/"+name] = text
		}
		return push(t, host+"/shop/manifests:latest", manifestLayer, charttest.Pack(t, named))
	}
	first := manifests(map[string]string{"./prod/db.yaml": database, "../../etc/passwd": "x", "prod/readme.md": "x"})
	second := manifests(map[string]string{"prod/kustomization.yaml": "configMapGenerator: [{name: shop, literals: [a=b]}]\ngeneratorOptions: {disableNameSuffixHash: true}\n"})
	push(t, host+"/shop/charts:1.10.0", chartLayer, charttest.Of(t, "1.10.0", deployment, database))
	push(t, host+"/shop/charts:99.0.0_build", chartLayer, charttest.Of(t, "99.0.0+build", deployment))
	push(t, host+"/shop/large:2.0.0", chartLayer, make([]byte, 11<<20))
	push(t, host+"/shop/large:1.0.0", chartLayer, charttest.Of(t, "1.0.0"))
	f := newFetcher(t, nil)

	url := "oci://" + host + "/shop/manifests"
	c, _ := look(t, f, artifact(url, "digest: "+first, "./prod"), artifact(url, "digest: "+second, "./prod"))
	got := [][]string{namesOf(c.Old), namesOf(c.New)}
	if diff := cmp.Diff([][]string{{"Kustomization/shop/StatefulSet.apps/db.yaml"}, {"Kustomization/shop/ConfigMap/shop.yaml"}}, got); diff != "" || len(c.Unread) > 0 {
		t.Errorf("objects (-want +got):\n%s%+v", diff, c.Unread)
	}
	charts := "oci://" + host + "/shop/charts"
	c, _ = look(t, f, chartArtifact(charts, "1.10.0"), chartArtifact(charts, "99.0.0+build"))
	got = [][]string{namesOf(c.Old), namesOf(c.New)}
	if diff := cmp.Diff([][]string{{"HelmRelease/shop/Deployment.apps/shop.yaml", "HelmRelease/shop/StatefulSet.apps/db.yaml"}, {"HelmRelease/shop/Deployment.apps/shop.yaml"}}, got); diff != "" || len(c.Unread) > 0 {
		t.Errorf("objects of the chart (-want +got):\n%s%+v", diff, c.Unread)
	}

	for name, test := range map[string]struct {
		old, new string
		change   func(*fetch.Options)
		want     inside.Reason
	}{
		"no digest": {artifact(url, "digest: "+first, "./prod"), artifact(url, "digest: sha256:"+strings.Repeat("0", 64), "./prod"), nil, inside.NotFound},
		"no tag":    {artifact(url, "digest: "+first, "./prod"), artifact(url, "tag: none", "./prod"), nil, inside.NotFound},
		"range":     {chartArtifact(charts, "1.10.0"), chartArtifact(charts, ">=1.10.0"), nil, inside.Range},
		"large":     {chartArtifact("oci://"+host+"/shop/large", "1.0.0"), chartArtifact("oci://"+host+"/shop/large", "2.0.0"), nil, inside.TooLarge},
		"guarded":   {chartArtifact(charts, "1.10.0"), chartArtifact(charts, "99.0.0+build"), func(o *fetch.Options) { o.Guard = nil }, inside.NotAllowed},
		"no secret": {chartArtifact(charts, "1.10.0"), chartArtifact(charts, "99.0.0+build"), func(o *fetch.Options) {
			o.Credentials = func(string) func(context.Context) (git.Credentials, error) {
				return func(context.Context) (git.Credentials, error) { return git.Credentials{}, nil }
			}
		}, inside.Private},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := look(t, newFetcher(t, test.change), test.old, test.new)
			wantReason(t, c, test.want)
		})
	}
}
