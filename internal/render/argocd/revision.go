package argocd

import (
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
)

var (
	commitID    = regexp.MustCompile(`^[0-9a-f]{40}$`)
	shortCommit = regexp.MustCompile(`^[0-9a-f]{7,39}$`)
	hasDigit    = regexp.MustCompile(`[0-9]`)
	versionTag  = regexp.MustCompile(`^v?[0-9]+\.[0-9]+`)
	// versionRange matches a range of versions. Branches have neither wildcards nor
	// comparisons.
	versionRange = regexp.MustCompile(`^[~^<>=!]|\*|^v?[0-9]+(\.[0-9]+)?\.[xX]$|\|\||, ?[<>=!~^]`)
	// versions matches the characters of versions and ranges.
	versions = regexp.MustCompile(`^[0-9A-Za-z.*+<>=!~^|, -]+$`)
	// gitReference matches the characters of a branch or tag.
	gitReference = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._/+@#-]*$`)
	digest       = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

func (t *translator) gitReferenceOf(s *source) *gitRef {
	r := s.TargetRevision
	line := max(r.Line, s.RepoURL.Line)
	switch {
	case r.Text == "" || r.Text == stack.HeadRef:
		t.warnf(line, "name the branch in targetRevision", "the head of %s is read from the branch %s", s.shownURL(), stack.DefaultBranch)
		return &gitRef{Branch: stack.DefaultBranch}
	case commitID.MatchString(r.Text):
		return &gitRef{Commit: r.Text}
	case versionRange.MatchString(r.Text) && versions.MatchString(r.Text):
		return &gitRef{SemVer: r.Text}
	case !gitReference.MatchString(r.Text) || strings.Contains(r.Text, "..") || strings.HasSuffix(r.Text, "/"):
		t.addf(line, "", "targetRevision cannot be %q", text.Shorten(r.Text, 100))
	case shortCommit.MatchString(r.Text) && hasDigit.MatchString(r.Text):
		t.addf(line, "write all 40 digits of a commit, or refs/heads/"+r.Text, "targetRevision is %s, which Flux does not take for a commit", r.Text)
	case strings.HasPrefix(r.Text, "refs/"):
		return &gitRef{Name: r.Text}
	case versionTag.MatchString(r.Text):
		return &gitRef{Tag: r.Text}
	}
	return &gitRef{Branch: r.Text}
}

func (t *translator) chartVersion(s *source) string {
	r := s.TargetRevision
	if r.Text == "" || r.Text == "*" {
		return ""
	}
	if !versions.MatchString(r.Text) || !hasDigit.MatchString(r.Text) {
		t.addf(r.Line, "as in 1.2.3 or 1.x", "targetRevision of a chart cannot be %q", text.Shorten(r.Text, 100))
	}
	return r.Text
}

func (t *translator) artifactReference(s *source) *ociRef {
	r := s.TargetRevision
	switch {
	case r.Text == "" || r.Text == stack.HeadRef:
		return nil // latest
	case digest.MatchString(r.Text):
		return &ociRef{Digest: r.Text}
	case versionRange.MatchString(r.Text) && versions.MatchString(r.Text):
		return &ociRef{SemVer: r.Text}
	case !artifactTag.MatchString(r.Text):
		t.addf(r.Line, "", "targetRevision cannot be %q", text.Shorten(r.Text, 100))
	}
	return &ociRef{Tag: r.Text}
}

var (
	artifactTag = regexp.MustCompile(`^[0-9A-Za-z_][0-9A-Za-z_.-]{0,127}$`)
	// registry matches Argo CD's registry address of a chart, without a scheme.
	registry = regexp.MustCompile(`^[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*(:[0-9]+)?(/[0-9A-Za-z._-]+)*$`)
	// artifactURL matches an OCI artifact or registry.
	artifactURL = regexp.MustCompile(`^oci://[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*(:[0-9]+)?(/[0-9A-Za-z._-]+)*/?$`)
	chartName   = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]*(/[0-9A-Za-z][0-9A-Za-z._-]*)*$`)
)

func (s *source) shownURL() string { return text.Shorten(text.CleanLine(s.RepoURL.Text), 100) }

func (s *source) isArtifact() bool {
	return s.Chart.Text == "" && strings.HasPrefix(s.RepoURL.Text, "oci://")
}

func (t *translator) secretFor(url string) *kubeobject.Reference {
	var best model.StackRepository
	name := stack.SourceName(url, "")
	for _, r := range t.component.Settings.Repositories {
		known := stack.SourceName(r.URL, "")
		if (name == known || strings.HasPrefix(name, strings.TrimSuffix(known, "/")+"/")) && len(r.URL) > len(best.URL) {
			best = r
		}
	}
	if best.Secret == "" {
		return nil
	}
	return &kubeobject.Reference{Name: best.Secret}
}

// addGitRepository reads repositories without a Secret anonymously.
func (t *translator) addGitRepository(p part, ignore string) kubeobject.Reference {
	secret := t.secretFor(p.RepoURL.Text)
	address, err := stack.PublicURL(p.RepoURL.Text)
	if secret != nil {
		address, err = stack.RepositoryURL(p.RepoURL.Text)
	}
	if err != nil {
		t.addf(p.RepoURL.Line, "", "repoURL: %s", text.CleanLine(err.Error()))
	}
	if secret == nil && address != p.RepoURL.Text && err == nil {
		t.warnf(p.RepoURL.Line, "name the Secret in spec.applications.repositories of the StackSettings", "%s is read without credentials, as %s", p.shownURL(), address)
	}
	spec := gitRepositorySpec{Interval: t.component.Interval, URL: address, Ref: t.gitReferenceOf(p.source), Ignore: ignore, SecretRef: secret}
	addObject(t, p, "gitrepository.yaml", sourceAPI, "GitRepository", spec)
	return kubeobject.Reference{Kind: "GitRepository", Name: p.name}
}

const chartMedia = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

func (t *translator) addArtifact(p part, isChart bool) kubeobject.Reference {
	if !artifactURL.MatchString(p.RepoURL.Text) {
		t.addf(p.RepoURL.Line, "as in oci://ghcr.io/owner/name, without a user", "repoURL cannot be %q", p.shownURL())
	}
	spec := ociRepositorySpec{Interval: t.component.Interval, URL: strings.TrimSuffix(p.RepoURL.Text, "/"), Ref: t.artifactReference(p.source), SecretRef: t.secretFor(p.RepoURL.Text)}
	if isChart {
		spec.LayerSelector = &layerSelector{chartMedia, "copy"}
	}
	addObject(t, p, "ocirepository.yaml", sourceAPI, "OCIRepository", spec)
	return kubeobject.Reference{Kind: "OCIRepository", Name: p.name}
}

// addHelmRepository takes an address without a scheme for a registry.
func (t *translator) addHelmRepository(p part) kubeobject.Reference {
	spec := helmRepositorySpec{Interval: t.component.Interval, URL: p.RepoURL.Text, SecretRef: t.secretFor(p.RepoURL.Text)}
	spec.PassCredentials = p.Helm != nil && p.Helm.PassCredentials && spec.SecretRef != nil
	scheme, _, hasScheme := strings.Cut(spec.URL, "://")
	switch {
	case !hasScheme && registry.MatchString(spec.URL):
		spec.Type, spec.URL = "oci", "oci://"+spec.URL
	case scheme == "oci" && artifactURL.MatchString(spec.URL):
		spec.Type = "oci"
	case scheme == "http" || scheme == "https":
		if _, err := stack.RepositoryURL(spec.URL); err != nil {
			t.addf(p.RepoURL.Line, "", "repoURL: %s", text.CleanLine(err.Error()))
		}
	default:
		t.addf(p.RepoURL.Line, "a repository of charts is at an address that begins with https:// or oci://", "repoURL cannot be %q", p.shownURL())
	}
	addObject(t, p, "helmrepository.yaml", sourceAPI, "HelmRepository", spec)
	return kubeobject.Reference{Kind: "HelmRepository", Name: p.name}
}
