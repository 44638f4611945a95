package fleet

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// Edit changes a fleet at random, as people do: a new version of a workload, other labels,
// another value, a new or deleted file, a template, a dependency. It returns a word for the
// change. The fleet stays free of problems.
func (f *Fleet) Edit(random *rand.Rand) string {
	n := random.IntN(1000)
	app := random.IntN(f.size.Workloads)
	switch random.IntN(10) {
	case 0:
		f.SetBranch(app, fmt.Sprintf("release-%d", n))
		return "version"
	case 1:
		f.replaceLine(f.workloads, random, "criticality: level-", fmt.Sprintf("criticality: level-%d", n%5))
		return "label of a target"
	case 2:
		f.replaceLine(f.env, random, "tier: tier-", fmt.Sprintf("tier: tier-%d", n%6))
		return "label of a cluster type or config"
	case 3:
		f.replaceLine(f.env, random, "  REGION_NAME: ", fmt.Sprintf("  REGION_NAME: name %d", n))
		return "value"
	case 4:
		f.SetIdle(fmt.Sprintf("value-%d", n))
		return "config for nobody"
	case 5:
		f.env["configs/extra.yaml"] = configMap("extra", map[string]string{"team": fmt.Sprintf("team-%02d", n%20)}, fmt.Sprintf("  EXTRA: |\n    - name: x%d\n", n%3))
		return "config for a team"
	case 6:
		delete(f.env, "configs/extra.yaml")
		return "config removed"
	case 7:
		name := []string{"ct-extra", "a-extra"}[random.IntN(2)] // the last, or the first
		f.env["cluster-types/extra.yaml"] = strings.ReplaceAll(clusterType(n%8, f.size), fmt.Sprintf("ct-%04d", n%8), name)
		return "cluster type"
	case 8:
		f.base["templates.yaml"] = strings.ReplaceAll(templates, "timeout: 5m", fmt.Sprintf("timeout: %dm", 1+n%4))
		return "template"
	default:
		path := workloadPath(app)
		if text := f.workloads[path]; strings.Contains(text, "annotations:") {
			f.workloads[path] = workloadFile(app, f.size, "main")
			return "dependency removed"
		}
		if app > 0 && zoneCount(f.size) == 1 {
			f.workloads[path] = strings.Replace(f.workloads[path], "  labels:\n    type",
				fmt.Sprintf("  annotations:\n    fairlead.io/depends-on: app-%04d\n  labels:\n    type", app-1), 1)
		}
		return "dependency"
	}
}

// replaceLine changes one line that begins with prefix, in one of the files that have
// such a line.
func (f *Fleet) replaceLine(files map[string]string, random *rand.Rand, prefix, line string) {
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if strings.Contains(files[path], prefix) {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return
	}
	path := paths[random.IntN(len(paths))]
	before, after, _ := strings.Cut(files[path], prefix)
	_, rest, _ := strings.Cut(after, "\n")
	files[path] = before + line + "\n" + rest
}
