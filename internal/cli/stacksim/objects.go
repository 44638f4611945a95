package stacksim

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
)

type objectKey struct{ kind, namespace, name string }

// String formats the key like Flux.
func (k objectKey) String() string { return path.Join(k.kind, k.namespace, k.name) }

type object struct {
	objectKey
	digest     tree.ID // of its spec
	generation int
	content    map[string]any
	spec       spec
	labels     map[string]string
	notes      map[string]string
}

// spec has the fields that controllers read, for all kinds.
type spec struct {
	DependsOn  []named  `yaml:"dependsOn"`
	Path       string   `yaml:"path"`
	Components []string `yaml:"components"`
	SourceRef  named    `yaml:"sourceRef"`
	Suspend    bool     `yaml:"suspend"`

	Interval      string `yaml:"interval"`
	RetryInterval string `yaml:"retryInterval"`
	Timeout       string `yaml:"timeout"`

	Wait         bool                    `yaml:"wait"`
	HealthChecks []kubeobject.HealthExpr `yaml:"healthCheckExprs"`

	URL string `yaml:"url"`
	Ref struct {
		Branch string `yaml:"branch"`
		Tag    string `yaml:"tag"`
		Commit string `yaml:"commit"`
	} `yaml:"ref"`

	ApprovePlan       string `yaml:"approvePlan"`
	Destroy           bool   `yaml:"destroy"`
	DestroyOnDeletion bool   `yaml:"destroyResourcesOnDeletion"`
	Vars              []struct {
		Name  string `yaml:"name"`
		Value any    `yaml:"value"`
	} `yaml:"vars"`
	Outputs *struct {
		Name    string   `yaml:"name"`
		Outputs []string `yaml:"outputs"`
	} `yaml:"writeOutputsToSecret"`

	ValuesFrom []struct {
		Kind string `yaml:"kind"`
		Name string `yaml:"name"`
		Key  string `yaml:"valuesKey"`
	} `yaml:"valuesFrom"`
}

type named struct {
	Kind      string `yaml:"kind"`
	Name      string `yaml:"name"`
	Namespace string `yaml:"namespace"`
}

func (o *object) component() string {
	if !o.isOfStack() {
		return o.name
	}
	return path.Join(o.labels["fairlead.io/team"], o.labels["fairlead.io/stack"], o.labels["fairlead.io/component"])
}

func (o *object) isOfStack() bool { return o.labels["fairlead.io/component"] != "" }

func (o *object) commit() string {
	if o.spec.Ref.Commit != "" {
		return o.spec.Ref.Commit
	}
	return tree.HashBlob([]byte(o.spec.URL + " " + o.spec.Ref.Branch + " " + o.spec.Ref.Tag)).String()
}

func (o *object) module(source *object) module {
	m := module{inputs: map[string]string{}, digest: fmt.Sprint(source.commit(), o.spec.Path, o.spec.Vars)}
	for _, v := range o.spec.Vars {
		m.inputs[v.Name] = fmt.Sprint(v.Value)
	}
	return m
}

func (o *object) encode(status any) (json.RawMessage, error) {
	all := maps.Clone(o.content)
	meta := map[string]any{"uid": fmt.Sprintf("%x", o.String()), "generation": o.generation}
	written, _ := o.content["metadata"].(map[string]any)
	maps.Copy(meta, written)
	all["metadata"], all["status"] = meta, status
	return json.Marshal(all)
}

func readObjects(t tree.Tree, want func(file string) bool) (map[objectKey]*object, error) {
	found := map[objectKey]*object{}
	for file, e := range t.Walk() {
		if path.Ext(file) != ".yaml" || !want(file) {
			continue
		}
		decoded, err := manifest.Decode(e.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, d := range decoded {
			o, err := newObject(d.Node)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			o.objectKey = objectKey{d.Kind, d.Namespace, d.Name}
			found[o.objectKey] = o
		}
	}
	return found, nil
}

func newObject(n *yaml.Node) (*object, error) {
	var read struct {
		Metadata struct {
			Labels      map[string]string `yaml:"labels"`
			Annotations map[string]string `yaml:"annotations"`
		} `yaml:"metadata"`
		Spec spec `yaml:"spec"`
	}
	o := &object{generation: 1}
	if err := n.Decode(&read); err != nil {
		return nil, err
	}
	o.spec, o.labels, o.notes = read.Spec, read.Metadata.Labels, read.Metadata.Annotations
	if err := n.Decode(&o.content); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(o.content["spec"])
	o.digest = tree.HashBlob(text)
	return o, err
}

// module is a root module: its inputs, and a digest of everything that determines the result.
type module struct {
	inputs map[string]string
	digest string
}

func readModule(repo *git.Repository, commit, folder string) (module, error) {
	view, err := repo.View(commit)
	if err != nil {
		return module{}, err
	}
	files := view.Tree.Sub(strings.Trim(path.Clean("/"+folder), "/"))
	main, ok := files.Lookup("module.tf")
	m := module{inputs: map[string]string{}}
	for name, e := range files.Sub("module").Walk() {
		if !strings.HasSuffix(name, ".md") { // Terraform does not read it
			m.digest += name + " " + e.ID.String() + "\n"
		}
	}
	if view.Err() != nil {
		return m, view.Err()
	}
	if !ok {
		return m, fmt.Errorf("there is no module.tf in %s at %s", folder, commit)
	}
	read, _ := files.Lookup("data.tf")
	outputs := nameOutputs(string(read.Data))
	m.digest += outputs.Replace(string(main.Data))
	for line := range strings.Lines(string(main.Data)) {
		name, value, isInput := strings.Cut(strings.TrimSpace(line), "=")
		name = strings.TrimSpace(name)
		if isInput && name != "source" && name != "version" {
			m.inputs[name] = outputs.Replace(strings.TrimSpace(value))
		}
	}
	return m, nil
}

var remoteState = regexp.MustCompile(`data "terraform_remote_state" "([^"]+)" \{[^}]*?\bkey += "([^"]+)/terraform\.tfstate"`)

// nameOutputs replaces references to outputs of other components by what these are in the simulation: names.
func nameOutputs(data string) *strings.Replacer {
	var pairs []string
	for _, found := range remoteState.FindAllStringSubmatch(data, -1) {
		pairs = append(pairs, "data.terraform_remote_state."+found[1]+".outputs.", strings.ReplaceAll(found[2], "/", "-")+"-")
	}
	return strings.NewReplacer(pairs...)
}
