// Helm renders a chart with Helm's own engine, and says what "helm lint" finds.
//
//	helm CHART RELEASE VALUES
//
// It prints a text of JSON. It is a module of its own: what Helm is built with would give templates of control planes
// other bytes (camelcase of xstrings 1.5).
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

// answer is what is printed.
type answer struct {
	Files map[string]string // that were rendered, by path
	Error string            // why nothing was rendered; "" if it was
	Lint  []string          // what "helm lint" finds that is worse than a remark
}

func main() {
	a := answer{}
	values, err := readValues(os.Args[3])
	if err == nil {
		a.Files, err = render(os.Args[1], os.Args[2], values)
	}
	if err != nil {
		a.Error = err.Error()
	}
	for _, m := range lint.RunAll(os.Args[1], values, os.Args[2]).Messages {
		if m.Severity > support.InfoSev {
			a.Lint = append(a.Lint, m.Error())
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func readValues(text string) (map[string]any, error) {
	values := map[string]any{}
	return values, yaml.Unmarshal([]byte(text), &values)
}

func render(dir, release string, values map[string]any) (map[string]string, error) {
	chart, err := loader.Load(dir)
	if err != nil {
		return nil, err
	}
	options := common.ReleaseOptions{Name: release, Namespace: release, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, options, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, all)
}
