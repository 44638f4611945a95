package deploy

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/kustomize"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// settingsFile is the file of the kustomization with the settings of the daemon.
const settingsFile = "fairlead.yaml"

// Options configures an installation of the daemon.
type Options struct {
	Image     string // with its tag or digest
	Namespace string
	Settings  []byte // nil for those of the kustomization, which are an example
}

// Image is the parts of an image's name.
type Image struct{ Name, Tag, Digest string }

var imagePattern = regexp.MustCompile(`^([a-z0-9][A-Za-z0-9._/:-]*?)(?::([A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$`)

// ParseImage parses the name of an image. Tag and digest may be missing.
func ParseImage(text string) (Image, error) {
	m := imagePattern.FindStringSubmatch(text)
	if m == nil {
		return Image{}, fmt.Errorf("%q is no image such as registry.example.com/fairlead:v1.0.0", text)
	}
	return Image{m[1], m[2], m[3]}, nil
}

// kustomization is what an installation changes of the kustomization.
type kustomization struct {
	APIVersion string        `yaml:"apiVersion"`
	Kind       string        `yaml:"kind"`
	Namespace  string        `yaml:"namespace"`
	Resources  []string      `yaml:"resources"`
	Images     []imageChange `yaml:"images"`
}

type imageChange struct {
	Name    string `yaml:"name"`
	NewName string `yaml:"newName"`
	NewTag  string `yaml:"newTag,omitempty"`
	Digest  string `yaml:"digest,omitempty"`
}

// RenderDaemon returns the objects of the daemon, as one text.
func RenderDaemon(o Options) ([]byte, error) {
	image, err := ParseImage(o.Image)
	if err := errors.Join(err, kubename.Check(o.Namespace)); err != nil {
		return nil, err
	}
	base, err := Daemon()
	if err != nil {
		return nil, err
	}
	if o.Settings != nil {
		base = tree.FromEntries(append(base.EntriesExcept(settingsFile), tree.File(settingsFile, o.Settings)))
	}
	text, err := yamldoc.Encode(kustomization{
		"kustomize.config.k8s.io/v1beta1", "Kustomization", o.Namespace, []string{"base"},
		[]imageChange{{"registry.example.com/fairlead", image.Name, image.Tag, image.Digest}},
	})
	if err != nil {
		return nil, err
	}
	return Build(base, text)
}

// Build builds a kustomization whose resource is the folder "base", and returns its objects as one text.
func Build(base tree.Tree, kustomization []byte) ([]byte, error) {
	objects, problems := kustomize.Build(tree.FromEntries([]tree.Entry{tree.Dir("base", base), tree.File("kustomization.yaml", kustomization)}), "")
	if p, stops := problems.FirstStopping(); stops {
		return nil, errors.New(p.String())
	}
	var all []byte
	for i, object := range objects {
		if i > 0 {
			all = append(all, "---\n"...)
		}
		all = append(all, object.YAML...)
	}
	return all, nil
}
