package argocd

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
)

// retryAnyway is the retry interval of Applications without one. deployTimeout limits
// the time to become ready.
const (
	retryAnyway   = "1m"
	deployTimeout = "10m"
)

func (t *translator) addKustomization(p part) {
	folder, ok := t.folderOf(p)
	if !ok {
		return
	}
	if p.Path.Text == "" {
		t.addf(p.RepoURL.Line, "write path: . for the root of the repository", "the source has neither a chart nor a path")
		return
	}
	spec := kustomizationSpec{
		Suspend: t.component.Suspended, Interval: t.component.Interval, RetryInterval: retryAnyway, Timeout: deployTimeout, Path: "./" + folder,
		Prune: t.policy.prune, DeletionPolicy: t.policy.deletion, Wait: true, Force: t.policy.force, TargetNamespace: t.app.Spec.Destination.Namespace.Text,
		KubeConfig: t.kubeConfig, Ignore: t.ignored,
	}
	if t.policy.retryInterval != "" {
		spec.RetryInterval = t.policy.retryInterval
	}
	t.setKustomize(p, &spec)
	t.namespaced = t.namespaced || spec.TargetNamespace != ""
	t.warnOfKustomization(p, spec)
	if p.isArtifact() {
		if p.Directory != nil && (p.Directory.Recurse || p.Directory.Exclude.Text != "" || p.Directory.Include.Text != "") {
			t.addf(p.RepoURL.Line, "", "directory cannot be translated for an OCI artifact")
		}
		spec.SourceRef = t.addArtifact(p, false)
	} else {
		spec.SourceRef = t.addGitRepository(p, t.ignoreOf(p, folder))
	}
	addObject(t, p, KustomizationFile, kubeobject.FluxKustomization, "Kustomization", spec)
	t.setTarget("the folder "+path.Join("/", folder)+" of "+stack.SourceName(p.RepoURL.Text, "")+describeAffixes(p.Kustomize), spec.TargetNamespace)
}

func (t *translator) warnOfKustomization(p part, spec kustomizationSpec) {
	line := t.app.Metadata.Name.Line
	if !t.policy.selfHeal {
		t.warnf(line, "", "Flux corrects the drift of its objects: spec.syncPolicy.automated.selfHeal is not true")
	}
	if spec.TargetNamespace != "" && (p.Kustomize == nil || p.Kustomize.Namespace.Text == "") {
		t.warnf(line, "", "all objects are put into the namespace %s, those too that name another one, which Argo CD leaves there", spec.TargetNamespace)
	}
	if t.component.Destroyed && spec.DeletionPolicy == "Orphan" {
		t.warnf(line, "", "the objects stay when the component is destroyed: as in Argo CD, since the Application has no finalizer")
	}
	if p.Kustomize == nil && p.Directory == nil {
		t.warnf(p.Path.Line, "write helm: {} if it is a chart", "%s of %s is taken for manifests", text.Shorten(p.Path.Text, 100), p.shownURL())
	}
	if t.policy.noValidation {
		t.warnf(line, "", "the option Validate=false has no effect: the API server checks what Flux applies")
	}
	if t.app.Spec.RevisionHistory != nil {
		t.warnf(line, "", "spec.revisionHistoryLimit has no effect: Flux keeps no history of manifests")
	}
}

func (t *translator) setKustomize(p part, spec *kustomizationSpec) {
	k := p.Kustomize
	if k == nil {
		return
	}
	line := p.RepoURL.Line
	if ns := k.Namespace; ns.Text != "" {
		spec.TargetNamespace = ns.Text
		if !kubename.IsDNSLabel(ns.Text) {
			t.addf(ns.Line, "", "kustomize.namespace cannot be %q", text.Shorten(ns.Text, 100))
		}
	}
	for _, affix := range []string{k.NamePrefix, k.NameSuffix} {
		if !namePart.MatchString(affix) {
			t.addf(line, "", "kustomize.namePrefix and nameSuffix cannot be %q", text.Shorten(affix, 100))
		}
	}
	spec.NamePrefix, spec.NameSuffix, spec.IgnoreMissingComponents = k.NamePrefix, k.NameSuffix, k.IgnoreMissingComponents
	for _, c := range k.Components {
		if !plainPath.MatchString(c.Text) || !strings.HasPrefix(path.Join("/", spec.Path, c.Text), "/") || path.IsAbs(c.Text) || leavesRoot(path.Join(spec.Path, c.Text)) {
			t.addf(c.Line, "it is a folder of the repository, from the path of the source", "kustomize.components: %q is outside of the repository", text.Shorten(c.Text, 100))
			continue
		}
		spec.Components = append(spec.Components, c.Text)
	}
	for _, i := range k.Images {
		spec.Images = append(spec.Images, t.parseImage(i.Line, i.Text))
	}
	t.setPatches(k, spec)
	t.setCommon(line, k, spec)
	if k.Version.Text != "" {
		t.warnf(k.Version.Line, "", "kustomize.version has no effect: Flux has a version of its own")
	}
	if k.KubeVersion.Text != "" {
		t.warnf(k.KubeVersion.Line, "", "kustomize.kubeVersion has no effect")
	}
	if len(k.APIVersions) > 0 {
		t.warnf(k.APIVersions[0].Line, "", "kustomize.apiVersions has no effect")
	}
}

func leavesRoot(file string) bool { return file == ".." || strings.HasPrefix(file, "../") }

var (
	namePart = regexp.MustCompile(`^[0-9a-z.-]*$`)
	// imageText matches kustomize images: "name:tag", "name@digest", "name=new:tag".
	imageText = regexp.MustCompile(`^(?:([^=\s]+)=)?([^=@\s]+?)(?::([0-9A-Za-z_][0-9A-Za-z_.-]*))?(?:@(sha256:[0-9a-f]{64}))?$`)
)

func (t *translator) parseImage(line int, written string) image {
	found := imageText.FindStringSubmatch(written)
	if found == nil || found[1] == "" && found[3] == "" && found[4] == "" {
		t.addf(line, "as in example.com/app:1.2 or app=example.com/app:1.2", "kustomize.images: an image cannot be %q", text.Shorten(text.CleanLine(written), 100))
		return image{Name: "invalid"}
	}
	i := image{Name: found[2], NewTag: found[3], Digest: found[4]}
	if found[1] != "" {
		i.Name, i.NewName = found[1], found[2]
	}
	return i
}

const scaled = "Deployment|ReplicaSet|ReplicationController|StatefulSet"

func (t *translator) setPatches(k *kustomizeSource, spec *kustomizationSpec) {
	for i, p := range k.Patches {
		switch {
		case p.Path.Text != "":
			t.addf(p.Path.Line, "write the patch itself", "kustomize.patches[%d].path cannot be translated", i)
			continue
		case p.Patch.Text == "":
			t.addf(p.Patch.Line, "", "kustomize.patches[%d] has no patch", i)
			continue
		}
		if len(p.Options) > 0 {
			t.addf(p.Patch.Line, "", "kustomize.patches[%d].options cannot be translated", i)
		}
		for _, finding := range manifest.Check([]byte(p.Patch.Text)) {
			t.addf(p.Patch.Line+finding.Line-1, finding.Hint, "kustomize.patches[%d].patch: %s", i, finding.Summary)
		}
		one := inlinePatch{Patch: p.Patch.Text}
		if p.Target != nil {
			t.checkPatterns(p.Patch.Line, i, p.Target)
			target := objectTarget(*p.Target)
			one.Target = &target
		}
		spec.Patches = append(spec.Patches, one)
	}
	for i, r := range k.Replicas {
		if !wholeNumber.MatchString(r.Count.Value) || strings.HasPrefix(r.Count.Value, "-") {
			t.addf(r.Name.Line, "", "kustomize.replicas[%d]: the count cannot be %q", i, text.Shorten(r.Count.Value, 100))
			continue
		}
		if err := kubename.Check(r.Name.Text); err != nil {
			t.addf(r.Name.Line, "", "kustomize.replicas[%d]: %v", i, err)
			continue
		}
		spec.Patches = append(spec.Patches, inlinePatch{
			Patch:  fmt.Sprintf("- op: add\n  path: /spec/replicas\n  value: %s\n", r.Count.Value),
			Target: &objectTarget{Kind: scaled, Name: regexp.QuoteMeta(r.Name.Text)},
		})
	}
}

func (t *translator) checkPatterns(line, i int, target *patchTarget) {
	for _, pattern := range []string{target.Group, target.Version, target.Kind, target.Name, target.Namespace} {
		if _, err := regexp.Compile(pattern); err != nil {
			t.addf(line, "", "kustomize.patches[%d].target: %q is not a regular expression", i, text.Shorten(pattern, 100))
		}
	}
}

func (t *translator) setCommon(line int, k *kustomizeSource, spec *kustomizationSpec) {
	if len(k.CommonLabels) == 0 && len(k.CommonAnnotations) == 0 {
		return
	}
	t.checkMetadata(line, "kustomize", k.CommonLabels, k.CommonAnnotations)
	if k.CommonAnnotationsEnvsubst {
		t.addf(line, "write the values", "kustomize.commonAnnotationsEnvsubst cannot be translated: Flux has none of these variables")
	}
	if len(k.CommonLabels) > 0 && (!k.LabelWithoutSelector || k.LabelIncludeTemplates) {
		t.warnf(line, "", "kustomize.commonLabels are labels of the objects, and not of selectors and templates in them")
	}
	if len(k.CommonAnnotations) > 0 {
		t.warnf(line, "", "kustomize.commonAnnotations are annotations of the objects, and not of templates in them")
	}
	if !k.ForceCommonLabels && len(k.CommonLabels) > 0 || !k.ForceCommonAnnotations && len(k.CommonAnnotations) > 0 {
		t.warnf(line, "", "kustomize.commonLabels and commonAnnotations replace those that objects have, which Argo CD does with forceCommonLabels and forceCommonAnnotations only")
	}
	spec.CommonMetadata = &commonMetadata{maps.Clone(k.CommonLabels), maps.Clone(k.CommonAnnotations)}
}

// ignoreOf returns the ignored files in .gitignore format; "" for Flux's default. Argo
// CD reads subfolders of a directory only with recurse.
func (t *translator) ignoreOf(p part, folder string) string {
	d := p.Directory
	if d == nil {
		return ""
	}
	if d.Jsonnet.Kind != 0 {
		t.addf(d.Jsonnet.Line, "render it in a job, and name the result", "directory.jsonnet cannot be translated")
	}
	if d.Include.Text != "" {
		t.addf(d.Include.Line, "write directory.exclude, or put the files into a folder of their own", "directory.include cannot be translated")
	}
	base := "/"
	if folder != "" {
		base = "/" + folder + "/"
	}
	patterns := []string{base + "**/kustomization.yaml", base + "**/kustomization.yml", base + "**/Kustomization"}
	if !d.Recurse {
		patterns = append(patterns, base+"*/")
	}
	for _, pattern := range splitBraces(d.Exclude.Text) {
		switch {
		case pattern == "":
			continue
		case !filePattern.MatchString(pattern) || d.Recurse && strings.Contains(pattern, "*") && !strings.HasPrefix(pattern, "*"):
			t.addf(d.Exclude.Line, "as in '*-test.yaml', or '{a.yaml,b.yaml}'", "directory.exclude cannot be translated: %s", text.Shorten(d.Exclude.Text, 100))
		case d.Recurse && strings.HasPrefix(pattern, "*"):
			patterns = append(patterns, base+"**/"+pattern)
		default:
			patterns = append(patterns, base+pattern)
		}
	}
	slices.Sort(patterns)
	return strings.Join(slices.Compact(patterns), "\n") + "\n"
}

// filePattern matches a file pattern without folders.
var filePattern = regexp.MustCompile(`^[0-9A-Za-z._*?-]+$`)

func splitBraces(pattern string) []string {
	inner, ok := strings.CutPrefix(pattern, "{")
	if !ok || !strings.HasSuffix(inner, "}") {
		return []string{pattern}
	}
	return strings.Split(strings.TrimSuffix(inner, "}"), ",")
}

func describeAffixes(k *kustomizeSource) string {
	if k == nil || k.NamePrefix == "" && k.NameSuffix == "" {
		return ""
	}
	return " as " + k.NamePrefix + "*" + k.NameSuffix
}
