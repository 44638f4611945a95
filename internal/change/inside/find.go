package inside

import (
	"bytes"
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// Find returns the moves from one output to another, in the order of their assignments. It reads
// only assignments that differ, and none that is added or removed.
func Find(old, new tree.Tree) []Move {
	var moves []Move
	for wasType, isType := range tree.ZipChanged(old, new) {
		if !wasType.IsDir() || !isType.IsDir() || strings.HasPrefix(wasType.Name, ".") {
			continue
		}
		for was, is := range tree.ZipChanged(wasType.Tree(), isType.Tree()) {
			if !was.IsDir() || !is.IsDir() || !mayMove(was.Tree(), is.Tree()) {
				continue
			}
			for _, m := range compareFolders(was.Tree(), is.Tree()) {
				m.ClusterType, m.Target = isType.Name, is.Name
				moves = append(moves, m)
			}
		}
	}
	return moves
}

var sourceMark = regexp.MustCompile(`\bkind["']?\s*:\s*["']?(GitRepository|OCIRepository|HelmRepository|HelmRelease|Kustomization)\b`)

var valuesMark = regexp.MustCompile(`\bkind["']?\s*:\s*["']?ConfigMap\b`)

// mayMove reports whether a changed file has a source, a reconciler, or values of one.
func mayMove(old, new tree.Tree) bool {
	hasValues := false
	for c := range tree.Diff(old, new) {
		if sourceMark.Match(c.Old.Data) || sourceMark.Match(c.New.Data) {
			return true
		}
		hasValues = hasValues || valuesMark.Match(c.Old.Data) || valuesMark.Match(c.New.Data)
	}
	if hasValues {
		for _, e := range new.Walk() {
			if bytes.Contains(e.Data, []byte("valuesFrom")) {
				return true
			}
		}
	}
	return false
}

func compareFolders(old, new tree.Tree) []Move {
	was, is := readFolder(old), readFolder(new)
	var moves []Move
	for _, r := range is.reconcilers {
		i := slices.IndexFunc(was.reconcilers, func(o manifest.Object) bool {
			return o.Kind == r.Kind && o.Namespace == r.Namespace && o.Name == r.Name
		})
		if i < 0 {
			continue
		}
		from, fromOK := was.sourceOf(was.reconcilers[i])
		to, toOK := is.sourceOf(r)
		if !fromOK || !toOK {
			continue
		}
		m := Move{Object: r.Kind + "/" + r.Name, From: from, To: to}
		if from.isSameContent(to) {
			m.Reason = NotBuilt
			if notBuilt(was.reconcilers[i]) == notBuilt(r) {
				continue
			}
		}
		moves = append(moves, m)
	}
	return moves
}

func notBuilt(r manifest.Object) string {
	return encodeFields(yamldoc.FindValue(r.Node, "spec"), "postBuild", "postRenderers")
}

// FindSources returns the sources of an assignment's folder, as moves to what they are.
func FindSources(assignment tree.Tree) []Move {
	f := readFolder(assignment)
	var all []Move
	for _, r := range f.reconcilers {
		if s, ok := f.sourceOf(r); ok {
			all = append(all, Move{Object: r.Kind + "/" + r.Name, To: s})
		}
	}
	return all
}

func (s Source) isSameContent(o Source) bool {
	return s.URL == o.URL && s.Revision == o.Revision && s.Chart == o.Chart && s.Path == o.Path && s.Settings == o.Settings
}

var (
	commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)
	digestID = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	tagName  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}$`)
)

// findReason returns "" for an exact revision of a source that can be read.
func (s Source) findReason() Reason {
	exact := false
	switch s.Kind {
	case Git, GitChart:
		exact = commitID.MatchString(s.Revision)
	case IndexedChart:
		exact = exactVersion(s.Revision) != ""
	case ChartArtifact, Artifact:
		exact = digestID.MatchString(s.Revision) || tagName.MatchString(s.Revision)
	default:
		return Unsupported
	}
	if !exact {
		return Range
	}
	return ""
}

func exactVersion(version string) string {
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v")); err != nil {
		return ""
	}
	return version
}

// folder is the objects of an assignment.
type folder struct {
	reconcilers []manifest.Object // of Flux: Kustomization and HelmRelease
	others      []manifest.Object
}

const maxFile = 1 << 20

func readFolder(t tree.Tree) folder {
	var f folder
	for name, e := range t.Walk() {
		if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" || len(e.Data) > maxFile {
			continue
		}
		objects, err := manifest.Decode(e.Data)
		if err != nil {
			continue // the comparison says so
		}
		for _, o := range objects {
			group, _, _ := strings.Cut(o.APIVersion, "/")
			if group == "kustomize.toolkit.fluxcd.io" && o.Kind == "Kustomization" || group == "helm.toolkit.fluxcd.io" && o.Kind == "HelmRelease" {
				f.reconcilers = append(f.reconcilers, o)
			} else {
				f.others = append(f.others, o)
			}
		}
	}
	return f
}

func (f folder) find(kind, namespace, name string) *yaml.Node {
	for _, o := range f.others {
		if o.Kind == kind && o.Name == name && (o.Namespace == namespace || o.Namespace == "") {
			return o.Node
		}
	}
	return nil
}

// sourceOf returns false for a reconciler whose source is elsewhere.
func (f folder) sourceOf(r manifest.Object) (Source, bool) {
	spec := yamldoc.FindValue(r.Node, "spec")
	if spec == nil {
		return Source{}, false
	}
	if r.Kind == "Kustomization" {
		s, ok := f.findSource(r.Namespace, yamldoc.FindValue(spec, "sourceRef"))
		s.Path, s.Namespace = cleanPath(yamldoc.FindText(spec, "path")), yamldoc.FindText(spec, "targetNamespace")
		s.Settings = encodeFields(spec, "targetNamespace", "namePrefix", "nameSuffix", "images", "patches", "components")
		return s, ok
	}
	s, ok := Source{}, false
	if ref := yamldoc.FindValue(spec, "chartRef"); ref != nil {
		s, ok = f.findSource(r.Namespace, ref)
		s.Kind = map[Kind]Kind{Artifact: ChartArtifact}[s.Kind]
	} else {
		s, ok = f.chartSource(r.Namespace, yamldoc.FindValue(spec, "chart", "spec"))
	}
	s.Name = cmp.Or(yamldoc.FindText(spec, "releaseName"), r.Name)
	s.Namespace = cmp.Or(yamldoc.FindText(spec, "targetNamespace"), r.Namespace)
	s.Settings = f.values(r.Namespace, spec)
	return s, ok
}

func (f folder) chartSource(namespace string, spec *yaml.Node) (Source, bool) {
	if spec == nil {
		return Source{}, false
	}
	s, ok := f.findSource(namespace, yamldoc.FindValue(spec, "sourceRef"))
	name, version := yamldoc.FindText(spec, "chart"), cmp.Or(yamldoc.FindText(spec, "version"), "*")
	switch s.Kind {
	case Git:
		s.Kind, s.Path = GitChart, cleanPath(name)
	case IndexedChart:
		s.Chart, s.Revision = name, version
	case ChartArtifact:
		s.URL, s.Revision = strings.TrimSuffix(s.URL, "/")+"/"+name, cmp.Or(exactVersion(version), "range "+version)
	}
	return s, ok
}

func (f folder) findSource(namespace string, ref *yaml.Node) (Source, bool) {
	if ref == nil {
		return Source{}, false
	}
	kind := yamldoc.FindText(ref, "kind")
	o := f.find(kind, cmp.Or(yamldoc.FindText(ref, "namespace"), namespace), yamldoc.FindText(ref, "name"))
	if o == nil {
		return Source{}, false
	}
	s := Source{URL: yamldoc.FindText(o, "spec", "url")}
	ref = yamldoc.FindValue(o, "spec", "ref")
	switch kind {
	case "GitRepository":
		s.Kind, s.Revision = Git, yamldoc.FindText(ref, "commit")
		if s.Revision == "" {
			s.Revision = followed(ref, "name", "semver", "tag", "branch")
		}
	case "OCIRepository":
		s.Kind, s.Revision = Artifact, yamldoc.FindText(ref, "digest")
		if s.Revision == "" {
			s.Revision = cmp.Or(exactVersion(yamldoc.FindText(ref, "semver")), followed(ref, "semver"), yamldoc.FindText(ref, "tag"), "latest")
		}
	case "HelmRepository":
		s.Kind = IndexedChart
		if strings.HasPrefix(s.URL, "oci://") {
			s.Kind = ChartArtifact
		}
	}
	return s, true
}

// followed returns the first of several fields, as "semver >=1.0.0".
func followed(ref *yaml.Node, fields ...string) string {
	for _, field := range fields {
		if value := yamldoc.FindText(ref, field); value != "" {
			return field + " " + value
		}
	}
	return ""
}

func cleanPath(p string) string { return strings.TrimPrefix(path.Clean("/"+p), "/") }

func encodeFields(spec *yaml.Node, fields ...string) string {
	kept := &yaml.Node{Kind: yaml.MappingNode}
	for _, field := range fields {
		if value := yamldoc.FindValue(spec, field); value != nil {
			yamldoc.AddPair(kept, field, value)
		}
	}
	if len(kept.Content) == 0 {
		return ""
	}
	text, err := yamldoc.Encode(kept)
	if err != nil {
		return ""
	}
	return string(text)
}

// values merges the values of a release: ConfigMaps of the assignment, and the release's own ones.
// Others exist only on the cluster, and are the same before and after.
func (f folder) values(namespace string, spec *yaml.Node) string {
	merged := map[string]any{}
	if from := yamldoc.FindValue(spec, "valuesFrom"); from != nil {
		for _, ref := range from.Content {
			o := f.find(yamldoc.FindText(ref, "kind"), namespace, yamldoc.FindText(ref, "name"))
			if o == nil || yamldoc.FindText(ref, "kind") != "ConfigMap" || yamldoc.FindText(ref, "targetPath") != "" {
				continue
			}
			some := map[string]any{}
			text := yamldoc.FindText(o, "data", cmp.Or(yamldoc.FindText(ref, "valuesKey"), "values.yaml"))
			if yaml.Unmarshal([]byte(text), &some) == nil {
				merged = mergeValues(merged, some)
			}
		}
	}
	if own := yamldoc.FindValue(spec, "values"); own != nil {
		some := map[string]any{}
		if own.Decode(&some) == nil {
			merged = mergeValues(merged, some)
		}
	}
	if len(merged) == 0 {
		return ""
	}
	text, err := yamldoc.Encode(merged)
	if err != nil {
		return ""
	}
	return string(text)
}

func mergeValues(below, above map[string]any) map[string]any {
	for key, value := range above {
		a, isMap := value.(map[string]any)
		b, wasMap := below[key].(map[string]any)
		if isMap && wasMap {
			value = mergeValues(b, a)
		}
		below[key] = value
	}
	return below
}
