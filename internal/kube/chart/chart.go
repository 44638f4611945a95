// Package chart renders a Helm chart in memory, with Helm's own engine and without a cluster.
//
// Rendering is a function of the chart, its values and the release: lookups find nothing, names are
// not resolved, schemas are not loaded, and functions that draw random numbers or read the clock
// return placeholders. It is not bounded in time or memory, so that untrusted charts are rendered
// in a process of their own.
package chart

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	dependencies "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

// Chart is the content of a chart: a packed one, or its files.
type Chart struct {
	Archive []byte            `json:"archive,omitempty"`
	Files   map[string][]byte `json:"files,omitempty"`
}

// Release is what a chart is rendered for.
type Release struct {
	Name, Namespace string
	Values          string // YAML
}

// MaxUnpacked bounds the files of a chart, in bytes.
const MaxUnpacked = 32 << 20

// Render returns the rendered files, without notes and tests, in the order of their names.
func Render(c Chart, r Release) ([][]byte, error) {
	files, err := c.unpack()
	if err != nil {
		return nil, err
	}
	loaded, err := loader.LoadFiles(files)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(r.Values), &values); err != nil {
		return nil, fmt.Errorf("the values are not a mapping: %w", err)
	}
	if err := dependencies.ProcessDependencies(loaded, values); err != nil {
		return nil, err
	}
	options := common.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsUpgrade: true}
	all, err := util.ToRenderValuesWithSchemaValidation(loaded, values, options, common.DefaultCapabilities, true)
	if err != nil {
		return nil, err
	}
	//lint:ignore SA1019 nothing here is canceled: the process that renders is ended
	rendered, err := engine.Engine{CustomTemplateFuncs: fixedFunctions()}.Render(loaded, all)
	if err != nil {
		return nil, err
	}
	var texts [][]byte
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		base := path.Base(name)
		if base != "NOTES.txt" && !strings.HasPrefix(base, "_") && strings.TrimSpace(rendered[name]) != "" {
			texts = append(texts, []byte(rendered[name]))
		}
	}
	return texts, nil
}

func (c Chart) unpack() ([]*archive.BufferedFile, error) {
	if len(c.Archive) > 0 {
		archive.MaxDecompressedChartSize = MaxUnpacked
		return archive.LoadArchiveFiles(bytes.NewReader(c.Archive))
	}
	var files []*archive.BufferedFile
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		files = append(files, &archive.BufferedFile{Name: name, Data: c.Files[name]})
	}
	return files, nil
}
