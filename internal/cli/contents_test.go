package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/charttest"
)

// TestDiffInside: with --inside, diff says what a version of a chart removes, and no request is
// sent without.
func TestDiffInside(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	const deployment, database = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\n", "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\n"
	charts := charttest.Serve(t, map[string][]byte{"1.10.0": charttest.Of(t, "1.10.0", deployment, database), "99.0.0": charttest.Of(t, "99.0.0", deployment)})
	dir := t.TempDir()
	t.Chdir(dir)
	for side, version := range map[string]string{"old": "1.10.0", "new": "99.0.0"} {
		text := fmt.Sprintf(`apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: shop}
spec: {url: https://charts.example.com/stable}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: shop}
spec:
  chart: {spec: {chart: shop, version: %s, sourceRef: {kind: HelmRepository, name: shop}}}
`, version)
		if err := os.MkdirAll(filepath.Join(dir, side, "cloud", "shop"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, side, "cloud", "shop", "reconciler.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"diff", "old", "new", "--map", "https://charts.example.com/stable=" + charts.URL}
	code, stdout, stderr := run(t.Context(), args...)
	if code != 4 || strings.Contains(stdout, "StatefulSet") || charts.Fetched.Load() != 0 {
		t.Errorf("without --inside: code %d, %d charts fetched\n%s%s", code, charts.Fetched.Load(), stdout, stderr)
	}
	code, stdout, stderr = run(t.Context(), append(args, "--inside")...)
	if code != 4 || !strings.Contains(stdout, "StatefulSet/db removed") || !strings.Contains(stdout, "REMOVE 1 object from shop") || charts.Fetched.Load() != 2 {
		t.Errorf("with --inside: code %d, %d charts fetched\n%s%s", code, charts.Fetched.Load(), stdout, stderr)
	}
}
