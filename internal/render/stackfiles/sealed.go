package stackfiles

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// When the output changes, Flux reconciles the Kustomization of a component at the same moment as the one that
// applies it. For some seconds, the one that the cluster has is that of before, and the objects in its folder are
// new: it would apply them in the order of before, and destroy a network first. So each Kustomization names a
// seal, a folder beside its objects whose name is a digest of its spec and of them. At a revision that has other
// ones, there is no such folder: Flux applies and removes nothing until the Kustomization is the one that belongs
// to the objects.

// sealText is what a seal holds: a component of kustomize that changes nothing, and is not empty.
const sealText = `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
generatorOptions:
  disableNameSuffixHash: true
`

// NewSeal returns the seal of the spec of a Kustomization and the objects that it applies. The spec is one that
// names no seal yet.
func NewSeal(spec any, objects tree.Tree) (tree.Entry, error) {
	text, err := yamldoc.Encode(spec)
	if err != nil {
		return tree.Entry{}, err
	}
	sum := sha256.Sum256(append(text, objects.ID().String()...))
	file := tree.File(kubeobject.KustomizationFile, []byte(sealText))
	return tree.Dir(kubeobject.SealPrefix+hex.EncodeToString(sum[:5]), tree.FromEntries([]tree.Entry{file})), nil
}

// sealedComponent is a Kustomization with the objects that it applies.
type sealedComponent struct {
	kustomization *kubeobject.Object[kustomizationSpec]
	objects       tree.Tree
}

func (s sealedComponent) seal() (file string, err error) {
	spec := &s.kustomization.Spec
	spec.Components = nil
	seal, err := NewSeal(spec, s.objects)
	if err != nil {
		return "", err
	}
	spec.Components = []string{"../" + seal.Name}
	return path.Join(seal.Name, kubeobject.KustomizationFile), nil
}

// EncodeFiles returns files with an object each.
func EncodeFiles(files map[string]any) (tree.Tree, error) {
	var b tree.Builder
	for file, o := range files {
		text, err := yamldoc.Encode(o)
		if err == nil {
			err = b.Add(file, text)
		}
		if err != nil {
			return tree.Tree{}, err
		}
	}
	return b.Tree(), nil
}

func (k *keeper) addSealed(folder string, s sealedComponent) error {
	file, err := s.seal()
	if err == nil {
		err = k.kept.Add(path.Join(folder, file), []byte(sealText))
	}
	if err == nil {
		err = k.addObject(path.Join(folder, componentFile), s.kustomization)
	}
	if err != nil {
		return err
	}
	for file, e := range s.objects.Walk() {
		if err := k.kept.AddEntry(path.Join(folder, objectsName, file), e); err != nil {
			return err
		}
	}
	return nil
}

// changeSealed adds the seals of components of which a stack that is kept has changed files, and returns their
// folders: their old seals are not kept.
func (k *keeper) changeSealed(s *renderedStack, changed map[string]any) (folders []string, err error) {
	for _, c := range s.components {
		folder := path.Join(s.Folder(), c.name)
		objects, isChanged, err := c.changeObjects(path.Join(folder, objectsName), changed)
		if err != nil {
			return nil, err
		}
		if _, ok := changed[path.Join(folder, componentFile)]; !ok && !isChanged {
			continue
		}
		file, err := sealedComponent{c.kustomization, objects}.seal()
		if err == nil {
			err = k.kept.Add(path.Join(folder, file), []byte(sealText))
		}
		if err != nil {
			return nil, err
		}
		changed[path.Join(folder, componentFile)] = c.kustomization
		folders = append(folders, folder)
	}
	return folders, nil
}

func (c *renderedComponent) changeObjects(folder string, changed map[string]any) (objects tree.Tree, isChanged bool, err error) {
	var b tree.Builder
	for file, e := range c.objects.Walk() {
		if o, ok := changed[path.Join(folder, file)]; ok {
			text, err := yamldoc.Encode(o)
			if err != nil {
				return tree.Tree{}, false, err
			}
			isChanged, e = true, tree.File(path.Base(file), text)
		}
		if err := b.AddEntry(file, e); err != nil {
			return tree.Tree{}, false, err
		}
	}
	return b.Tree(), isChanged, nil
}

func isSealOf(file string, folders []string) bool {
	for _, folder := range folders {
		if strings.HasPrefix(file, folder+"/"+kubeobject.SealPrefix) {
			return true
		}
	}
	return false
}
