package stackfiles

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
	"github.com/fairlead-io/fairlead/internal/render/tfobject"
)

// Ordered is a deployment target whose objects a Flux Kustomization of its own applies: one order for
// objects of all kinds.
type Ordered struct {
	Name   string
	Folder string   // of its objects, in the output
	After  []string // the names of those that are ready before it
}

// orderedNamespace is where these Kustomizations are, beside the one that applies them.
const orderedNamespace = "flux-system"

// RenderOrdered returns the file with the Kustomization of a deployment target that applies the given file
// with objects, and the seal to put beside their folder.
func RenderOrdered(m *model.Model, o Ordered, objects tree.Entry) (kustomization []byte, seal tree.Entry, err error) {
	read, err := manifest.Decode(objects.Data)
	if err != nil {
		return nil, tree.Entry{}, err
	}
	for _, one := range read {
		if one.Kind == "Kustomization" && one.Namespace == orderedNamespace && one.Name == o.Name {
			return nil, tree.Entry{}, fmt.Errorf("the Kustomization %s in the namespace %s is the one that applies the objects, and cannot be one of them", o.Name, orderedNamespace)
		}
	}
	source := stack.FindClusterSource(m)
	k := &kubeobject.Object[kustomizationSpec]{
		APIVersion: kubeobject.FluxKustomization, Kind: "Kustomization", Metadata: kubeobject.Metadata{Name: o.Name, Namespace: orderedNamespace},
		Spec: kustomizationSpec{
			Interval: "10m", RetryInterval: retryInterval, Timeout: tfobject.RunTimeout, Path: stack.OutputFolder(m) + o.Folder, Prune: true, Wait: true,
			SourceRef: kubeobject.Reference{Kind: "GitRepository", Name: source.Name}, HealthChecks: orderedHealth(read),
		},
	}
	if source.Namespace != orderedNamespace {
		k.Spec.SourceRef.Namespace = source.Namespace
	}
	for _, name := range o.After {
		k.Spec.DependsOn = append(k.Spec.DependsOn, kubeobject.Reference{Name: name})
	}
	seal, err = NewSeal(&k.Spec, tree.FromEntries([]tree.Entry{objects}))
	if err != nil {
		return nil, tree.Entry{}, err
	}
	k.Spec.Components = []string{"../" + seal.Name}
	kustomization, err = yamldoc.Encode(k)
	return kustomization, seal, err
}

// OrderedSettings identifies what these Kustomizations are made from besides the deployment target.
func OrderedSettings(m *model.Model) string {
	source := stack.FindClusterSource(m)
	return strings.Join([]string{stack.OutputFolder(m), source.Namespace, source.Name}, " ")
}

// RenderOrderedList returns the file that lists what Flux applies of the folder of such a deployment
// target. Without it, Flux would apply its objects too, and in no order.
func RenderOrderedList(files []string) ([]byte, error) {
	return yamldoc.Encode(kubeobject.NewKustomization(files))
}

type sourcedSpec struct {
	Spec struct {
		SourceRef kubeobject.Reference `yaml:"sourceRef"`
		Ref       gitRef               `yaml:"ref"`
	} `yaml:"spec"`
}

// orderedHealth returns when objects count as ready: after they have run at the commit or the tag that
// their source is at. The source alone may change, and an object is still ready from what was before.
func orderedHealth(objects []manifest.Object) []kubeobject.HealthExpr {
	refs, specs := map[string]gitRef{}, make([]sourcedSpec, len(objects))
	for i, o := range objects {
		_ = o.Node.Decode(&specs[i]) // fields of other types are left out
		if o.Kind == "GitRepository" {
			refs[o.Namespace+"/"+o.Name] = specs[i].Spec.Ref
		}
	}
	var all []kubeobject.HealthExpr
	seen := map[string]bool{} // one expression is for all objects of a kind
	for i, o := range objects {
		ref := refs[o.Namespace+"/"+specs[i].Spec.SourceRef.Name]
		switch {
		case seen[o.Kind]:
			continue
		case o.APIVersion == terraformAPI && o.Kind == terraformKind:
			all = append(all, tfobject.HealthAt(isAt("status.lastAttemptedRevision", ref)))
		case o.APIVersion == kubeobject.FluxKustomization && o.Kind == "Kustomization":
			all = append(all, kubeobject.HealthExpr{
				APIVersion: o.APIVersion, Kind: o.Kind,
				Current: "has(status.conditions) && has(status.lastAppliedRevision) && " + isAt("status.lastAppliedRevision", ref) +
					" && status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
			})
		default:
			continue
		}
		seen[o.Kind] = true
	}
	return all
}

// celText escapes a text for quotes of CEL.
var celText = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`)

// isAt returns the condition that a field holds the revision of a source, which is "branch@sha1:commit"
// or "tag@sha1:commit". Of a branch, any commit will do.
func isAt(field string, ref gitRef) string {
	switch {
	case ref.Commit != "":
		return fmt.Sprintf("%s.endsWith('%s')", field, celText.Replace(ref.Commit))
	case ref.Tag != "":
		return fmt.Sprintf("%s.startsWith('%s@')", field, celText.Replace(ref.Tag))
	}
	return field + " != ''"
}
