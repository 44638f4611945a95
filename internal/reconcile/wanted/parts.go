package wanted

import (
	"cmp"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
	"github.com/fairlead-io/fairlead/internal/ledger"
)

// partSpec has what is read of the objects in a reconciler.yaml, of every kind.
type partSpec struct {
	Spec struct {
		Path string `yaml:"path"` // of a Kustomization

		SourceRef objectRef `yaml:"sourceRef"`
		ChartRef  objectRef `yaml:"chartRef"` // of a HelmRelease, in the place of Chart
		Chart     struct {
			Spec struct {
				Chart     string    `yaml:"chart"`
				Version   string    `yaml:"version"`
				SourceRef objectRef `yaml:"sourceRef"`
			} `yaml:"spec"`
		} `yaml:"chart"`

		URL string    `yaml:"url"` // of a source of Flux
		Ref sourceRef `yaml:"ref"`

		Source  applicationSource   `yaml:"source"` // of an Application
		Sources []applicationSource `yaml:"sources"`

		Repo     string   `yaml:"repo"` // of a GitRepo
		Branch   string   `yaml:"branch"`
		Revision string   `yaml:"revision"`
		Paths    []string `yaml:"paths"`
	} `yaml:"spec"`
}

// objectRef names an object of Flux; its namespace is that of the object that names it, if it has none.
type objectRef struct {
	Kind      string `yaml:"kind"`
	Namespace string `yaml:"namespace"`
	Name      string `yaml:"name"`
}

type sourceRef struct {
	Branch string `yaml:"branch"`
	Tag    string `yaml:"tag"`
	SemVer string `yaml:"semver"`
	Name   string `yaml:"name"`
	Commit string `yaml:"commit"`
	Digest string `yaml:"digest"`
}

type applicationSource struct {
	RepoURL        string `yaml:"repoURL"`
	Path           string `yaml:"path"`
	Chart          string `yaml:"chart"`
	TargetRevision string `yaml:"targetRevision"`
}

type reader struct {
	sources map[objectRef]partSpec
}

// ReadParts returns the objects in a reconciler.yaml that report of what they apply: Kustomizations and
// HelmReleases of Flux, Applications of Argo CD, and GitRepos of Rancher Fleet. Of text that is no YAML
// there are none.
func ReadParts(text []byte) []ledger.Part {
	objects, err := manifest.Decode(text)
	if err != nil {
		return nil
	}
	r := reader{map[objectRef]partSpec{}}
	specs := make([]partSpec, len(objects))
	for i, o := range objects {
		specs[i] = decodeSpec(o.Node)
		r.sources[objectRef{o.Kind, o.Namespace, o.Name}] = specs[i]
	}
	var all []ledger.Part
	seen := map[string]bool{}
	for i, o := range objects {
		p, ok := r.readPart(o, specs[i])
		if ok && !seen[p.Object] {
			seen[p.Object] = true
			all = append(all, p)
		}
	}
	return all
}

func decodeSpec(n *yaml.Node) partSpec {
	var s partSpec
	_ = n.Decode(&s) // fields of other types are left out
	return s
}

func (r reader) readPart(o manifest.Object, s partSpec) (ledger.Part, bool) {
	p := ledger.Part{Object: o.Kind + "/" + o.Namespace + "/" + o.Name}
	group, _, _ := strings.Cut(o.APIVersion, "/")
	switch group + " " + o.Kind {
	case "kustomize.toolkit.fluxcd.io Kustomization":
		p.Path = s.Spec.Path
		r.follow(&p, o, s.Spec.SourceRef)
	case "helm.toolkit.fluxcd.io HelmRelease":
		r.readRelease(&p, o, s)
	case "argoproj.io Application":
		from := s.Spec.Source
		if from == (applicationSource{}) && len(s.Spec.Sources) > 0 {
			from = s.Spec.Sources[0]
		}
		p.Repo, p.Path, p.Ref = from.RepoURL, cmp.Or(from.Chart, from.Path), from.TargetRevision
		p.Pinned = pinnedRevision(p.Ref)
	case "fleet.cattle.io GitRepo":
		p.Repo, p.Ref, p.Pinned = s.Spec.Repo, cmp.Or(s.Spec.Revision, s.Spec.Branch), s.Spec.Revision
		if len(s.Spec.Paths) > 0 {
			p.Path = s.Spec.Paths[0]
		}
	default:
		return ledger.Part{}, false
	}
	p.Repo = giturl.Redact(p.Repo)
	return p, true
}

// readRelease reads where the chart of a HelmRelease comes from.
func (r reader) readRelease(p *ledger.Part, o manifest.Object, s partSpec) {
	if s.Spec.ChartRef.Name != "" {
		r.follow(p, o, s.Spec.ChartRef)
		return
	}
	chart := s.Spec.Chart.Spec
	r.follow(p, o, chart.SourceRef)
	p.Path = chart.Chart
	if chart.SourceRef.Kind == "HelmRepository" || p.Ref == "" {
		p.Ref, p.Pinned = chart.Version, pinnedVersion(chart.Version)
	}
}

func (r reader) follow(p *ledger.Part, o manifest.Object, ref objectRef) {
	ref.Namespace = cmp.Or(ref.Namespace, o.Namespace)
	s, ok := r.sources[ref]
	if !ok {
		return
	}
	p.Repo = s.Spec.URL
	at := s.Spec.Ref
	switch { // the first of them counts for Flux
	case at.Commit != "":
		p.Ref, p.Pinned = at.Commit, at.Commit
	case at.Digest != "":
		p.Ref, p.Pinned = at.Digest, at.Digest
	case at.Name != "":
		p.Ref = at.Name
	case at.SemVer != "":
		p.Ref, p.Pinned = at.SemVer, pinnedVersion(at.SemVer)
	case at.Tag != "" && ref.Kind == "OCIRepository":
		p.Ref, p.Pinned = at.Tag, pinnedVersion(at.Tag)
	case at.Tag != "":
		p.Ref, p.Pinned = at.Tag, at.Tag
	default:
		p.Ref = at.Branch
	}
}

var (
	commitPattern  = regexp.MustCompile(`^[0-9a-f]{40}$`)
	versionPattern = regexp.MustCompile(`^v?\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$`)
)

func pinnedVersion(version string) string {
	if versionPattern.MatchString(version) {
		return version
	}
	return ""
}

func pinnedRevision(revision string) string {
	if commitPattern.MatchString(revision) {
		return revision
	}
	return pinnedVersion(revision)
}
