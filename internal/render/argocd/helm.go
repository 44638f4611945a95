package argocd

import (
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// maxRelease is Helm's limit of release names.
const maxRelease = 53

func (t *translator) addRelease(p part, releases map[string]bool) {
	h := p.Helm
	if h == nil {
		h = &helmSource{}
	}
	t.checkHelm(p, h)
	spec := helmReleaseSpec{
		Suspend: t.component.Suspended, Interval: t.component.Interval, ReleaseName: t.app.Name(), TargetNamespace: t.app.Spec.Destination.Namespace.Text,
		KubeConfig: t.kubeConfig, MaxHistory: t.app.Spec.RevisionHistory, Drift: driftDetection{"warn", t.ignored}, Values: t.mergeValues(p, h),
	}
	if t.policy.selfHeal {
		spec.Drift.Mode = "enabled"
	}
	if h.Namespace.Text != "" {
		spec.TargetNamespace = h.Namespace.Text
	}
	if h.ReleaseName.Text != "" {
		spec.ReleaseName = h.ReleaseName.Text
	}
	t.checkRelease(p, spec, releases)
	if spec.KubeConfig != nil { // the stack's namespace is on this cluster
		spec.StorageNamespace = spec.TargetNamespace
	}
	action := actionSpec{CRDs: "CreateReplace", DisableOpenAPIValidation: t.policy.noValidation, DisableSchemaValidation: h.SkipSchemaValidation}
	if h.SkipCRDs {
		action.CRDs = "Skip"
	}
	if t.policy.retryInterval != "" {
		action.Strategy = &strategy{"RetryOnFailure", t.policy.retryInterval}
	}
	spec.Install, spec.Upgrade = installSpec{t.policy.createNamespace, action}, upgradeSpec{t.policy.force, action}
	t.setChart(p, h, &spec)
	if t.policy.deletion == "Orphan" && !t.component.Protected {
		t.warnf(t.app.Metadata.Name.Line, "", "the chart is uninstalled when the component is destroyed or removed: Argo CD leaves it, since the Application has no finalizer")
	}
	if !t.policy.prune {
		t.warnf(t.app.Metadata.Name.Line, "", "Helm removes objects that a new version of the chart does not have: spec.syncPolicy.automated.prune is not true")
	}
	addObject(t, p, ReleaseFile, helmAPI, "HelmRelease", spec)
	t.setTarget("the release "+spec.ReleaseName, spec.TargetNamespace)
}

func (t *translator) checkRelease(p part, spec helmReleaseSpec, releases map[string]bool) {
	line := p.RepoURL.Line
	if p.Helm != nil {
		line = max(line, p.Helm.ReleaseName.Line)
	}
	switch {
	case kubename.Check(spec.ReleaseName) != nil:
		t.addf(line, "", "the name of the release cannot be %q", text.Shorten(spec.ReleaseName, 100))
	case len(spec.ReleaseName) > maxRelease:
		t.addf(line, "write helm.releaseName", "the name of the release is %d characters long, and %d is the limit of Helm: %s", len(spec.ReleaseName), maxRelease, spec.ReleaseName)
	case !kubename.IsDNSLabel(spec.TargetNamespace):
		if spec.TargetNamespace == "" {
			t.addf(line, "write spec.destination.namespace", "the chart has no namespace")
		} else if spec.TargetNamespace != t.app.Spec.Destination.Namespace.Text { // reported elsewhere
			t.addf(line, "", "helm.namespace cannot be %q", text.Shorten(spec.TargetNamespace, 100))
		}
	case releases[spec.TargetNamespace+"/"+spec.ReleaseName]:
		t.addf(line, "write helm.releaseName for one of them", "two sources are the release %s in the namespace %s", spec.ReleaseName, spec.TargetNamespace)
	}
	releases[spec.TargetNamespace+"/"+spec.ReleaseName] = true
}

func (t *translator) checkHelm(p part, h *helmSource) {
	if len(h.FileParameters) > 0 {
		t.addf(h.FileParameters[0].Name.Line, "write the text into helm.valuesObject", "helm.fileParameters cannot be translated")
	}
	if v := h.Version; v.Text != "" && v.Text != "v3" {
		t.addf(v.Line, "remove it", "helm.version cannot be %q: Flux has version 3 of Helm, and later ones", text.Shorten(v.Text, 100))
	}
	if h.KubeVersion.Text != "" {
		t.warnf(h.KubeVersion.Line, "", "helm.kubeVersion has no effect: Flux asks the cluster")
	}
	if len(h.APIVersions) > 0 {
		t.warnf(h.APIVersions[0].Line, "", "helm.apiVersions has no effect: Flux asks the cluster")
	}
	if h.PassCredentials && t.secretFor(p.RepoURL.Text) == nil {
		t.warnf(p.RepoURL.Line, "name the Secret in spec.applications.repositories of the StackSettings", "helm.passCredentials has no effect: there are no credentials for %s", p.shownURL())
	}
}

func (t *translator) setChart(p part, h *helmSource, spec *helmReleaseSpec) {
	switch {
	case p.Chart.Text != "":
		if !chartName.MatchString(p.Chart.Text) {
			t.addf(p.Chart.Line, "", "the name of a chart cannot be %q", text.Shorten(p.Chart.Text, 100))
		}
		spec.Chart = &chartTemplate{chartSpec{Chart: p.Chart.Text, Version: t.chartVersion(p.source), SourceRef: t.addHelmRepository(p)}}
	case p.isArtifact():
		if folder, _ := t.folderOf(p); folder != "" {
			t.addf(p.Path.Line, "write path: .", "the chart in an OCI artifact is all of it, and path is %q", text.Shorten(p.Path.Text, 100))
		}
		if len(h.ValueFiles) > 0 {
			t.addf(h.ValueFiles[0].Line, "write the values into helm.valuesObject", "Flux reads no helm.valueFiles of a chart in an OCI artifact")
		}
		ref := t.addArtifact(p, true)
		spec.ChartRef = &ref
		return
	default:
		folder, ok := t.folderOf(p)
		if !ok {
			return
		}
		spec.Chart = &chartTemplate{chartSpec{Chart: "./" + folder, ReconcileStrategy: "Revision", SourceRef: t.addGitRepository(p, "")}}
	}
	t.setValueFiles(p, h, &spec.Chart.Spec)
}

// setValueFiles starts with values.yaml, which Helm reads implicitly but Flux does not.
func (t *translator) setValueFiles(p part, h *helmSource, spec *chartSpec) {
	if len(h.ValueFiles) == 0 {
		return
	}
	folder := ""
	if p.Chart.Text == "" {
		folder, _ = t.folderOf(p)
	}
	spec.ValuesFiles = []string{path.Join(folder, "values.yaml")}
	spec.IgnoreMissingValues = h.IgnoreMissingValueFiles
	for _, f := range h.ValueFiles {
		if file, ok := t.findValueFile(p, folder, f); ok {
			spec.ValuesFiles = append(spec.ValuesFiles, file)
		}
	}
}

func (t *translator) findValueFile(p part, folder string, f model.Text) (string, bool) {
	shown := text.Shorten(text.CleanLine(f.Text), 100)
	u, err := url.Parse(f.Text)
	switch {
	case strings.HasPrefix(f.Text, "$"):
		t.addf(f.Line, "write the values into helm.valuesObject, or move the file beside the chart", "helm.valueFiles: %s is in another repository than the chart, where Flux does not read values", shown)
		return "", false
	case f.Text == "" || err != nil || !plainPath.MatchString(f.Text) && u.Scheme == "":
		t.addf(f.Line, "", "helm.valueFiles: %q is not the path of a file", shown)
		return "", false
	case u.Scheme != "" || u.Host != "":
		t.addf(f.Line, "write the values into helm.valuesObject", "helm.valueFiles: Flux does not read values at an address: %s", shown)
		return "", false
	}
	file := path.Join(folder, f.Text)
	if path.IsAbs(f.Text) {
		file = path.Clean(f.Text)[1:]
	}
	if file == ".." || strings.HasPrefix(file, "../") {
		t.addf(f.Line, "", "helm.valueFiles: %s is outside of the repository", shown)
		return "", false
	}
	return file, true
}

// plainPath matches paths without patterns and variables.
var plainPath = regexp.MustCompile(`^[0-9A-Za-z._/@+ =,-]*$`)

func (t *translator) folderOf(p part) (string, bool) {
	written := p.Path.Text
	if !plainPath.MatchString(written) || strings.Contains("/"+written+"/", "/../") {
		t.addf(p.Path.Line, "it is a folder of the repository, from its root", "path cannot be %q", text.Shorten(written, 100))
		return "", false
	}
	return strings.Trim(path.Clean("/"+written), "/"), true
}
