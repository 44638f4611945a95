// Package crdtest checks rendered objects as an API server does, in process and without a
// cluster. Only tests import it.
//
// The custom resource definitions lie in testdata/crds, as their projects publish
// them. An object of a custom kind is taken as the API server takes it: unknown
// fields are refused, defaults are filled in, then types, required fields, enums,
// patterns, lists that are maps, and CEL rules are checked. Namespaces,
// NetworkPolicies, ConfigMaps and what an agent is made of are decoded strictly
// into their Go types. The name, namespace, labels and annotations of every object
// are checked too. An object of any other kind is refused: nothing passes unchecked.
package crdtest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	k8sjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

//go:embed testdata/crds/*.yaml.gz
var files embed.FS

// Schemas are the checks of the kinds that are known, by "apiVersion Kind".
type Schemas struct {
	custom map[string]*customKind
}

// customKind has the checks of one version of a custom resource definition.
type customKind struct {
	namespaced bool
	structural *schema.Structural
	openAPI    validation.SchemaValidator
	rules      *cel.Validator // nil if there are none
}

// coreKind are the kinds that have no definition, as values to decode into.
func coreKind(apiVersionKind string) (into any, namespaced bool) {
	switch apiVersionKind {
	case "v1 Namespace":
		return &corev1.Namespace{}, false
	case "v1 ConfigMap":
		return &corev1.ConfigMap{}, true
	case "networking.k8s.io/v1 NetworkPolicy":
		return &networkingv1.NetworkPolicy{}, true
	case "v1 ServiceAccount":
		return &corev1.ServiceAccount{}, true
	case "batch/v1 Job":
		return &batchv1.Job{}, true
	case "rbac.authorization.k8s.io/v1 Role":
		return &rbacv1.Role{}, true
	case "rbac.authorization.k8s.io/v1 RoleBinding":
		return &rbacv1.RoleBinding{}, true
	case "apps/v1 Deployment":
		return &appsv1.Deployment{}, true
	case "rbac.authorization.k8s.io/v1 ClusterRole":
		return &rbacv1.ClusterRole{}, false
	case "rbac.authorization.k8s.io/v1 ClusterRoleBinding":
		return &rbacv1.ClusterRoleBinding{}, false
	}
	return nil, false
}

// Load returns the custom resource definitions of testdata/crds. They are read once.
func Load() (*Schemas, error) { return loadOnce() }

var loadOnce = sync.OnceValues(load)

func load() (*Schemas, error) {
	names, err := fs.Glob(files, "testdata/crds/*.yaml.gz")
	if err != nil {
		return nil, err
	}
	s := &Schemas{custom: map[string]*customKind{}}
	for _, name := range names {
		if err := s.addDefinition(name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return s, nil
}

func (s *Schemas) addDefinition(name string) error {
	packed, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		return err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return err
	}
	for _, version := range crd.Spec.Versions {
		kind, err := newCustomKind(version)
		if err != nil {
			return fmt.Errorf("version %s: %w", version.Name, err)
		}
		kind.namespaced = crd.Spec.Scope == apiextensionsv1.NamespaceScoped
		s.custom[crd.Spec.Group+"/"+version.Name+" "+crd.Spec.Names.Kind] = kind
	}
	return nil
}

func newCustomKind(version apiextensionsv1.CustomResourceDefinitionVersion) (*customKind, error) {
	var props apiextensions.JSONSchemaProps
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &props, nil)
	if err != nil {
		return nil, err
	}
	structural, err := schema.NewStructural(&props)
	if err != nil {
		return nil, err
	}
	openAPI, _, err := validation.NewSchemaValidator(&props)
	if err != nil {
		return nil, err
	}
	return &customKind{
		structural: structural,
		openAPI:    openAPI,
		rules:      cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}, nil
}

// Check returns the mistakes in the objects of a YAML file, one sentence for each as
// "Kind/name: field: what"; nil if an API server would accept them all. A file without
// objects is a mistake.
func (s *Schemas) Check(file []byte) []string {
	var wrong []string
	objects := 0
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(file)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return append(wrong, err.Error())
		}
		text, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return append(wrong, err.Error())
		}
		if string(text) == "null" {
			continue
		}
		objects++
		wrong = append(wrong, s.checkObject(text)...)
	}
	if objects == 0 {
		wrong = append(wrong, "there is no object in the file")
	}
	return wrong
}

// checkObject checks one object in JSON.
func (s *Schemas) checkObject(text []byte) []string {
	var object unstructured.Unstructured
	if err := k8sjson.UnmarshalCaseSensitivePreserveInts(text, &object.Object); err != nil {
		return []string{err.Error()}
	}
	subject := object.GetKind() + "/" + object.GetName()
	apiVersionKind := object.GetAPIVersion() + " " + object.GetKind()

	var wrong []string
	into, namespaced := coreKind(apiVersionKind)
	kind := s.custom[apiVersionKind]
	switch {
	case into != nil:
		wrong = decodeStrictly(text, into)
	case kind != nil:
		wrong, namespaced = kind.checkObject(object.Object), kind.namespaced
	default:
		return []string{subject + ": there is no definition of " + apiVersionKind}
	}
	wrong = append(wrong, checkMetadata(&object, namespaced)...)
	for i, w := range wrong {
		wrong[i] = subject + ": " + w
	}
	return wrong
}

// decodeStrictly decodes JSON without converting numbers to text, as the YAML packages do where
// text is wanted.
func decodeStrictly(text []byte, into any) []string {
	unknown, err := k8sjson.UnmarshalStrict(text, into)
	if err != nil {
		return []string{err.Error()}
	}
	var wrong []string
	for _, u := range unknown {
		wrong = append(wrong, u.Error())
	}
	return wrong
}

func checkMetadata(object *unstructured.Unstructured, namespaced bool) []string {
	text, err := json.Marshal(object.Object["metadata"])
	if err != nil {
		return []string{err.Error()}
	}
	var meta metav1.ObjectMeta
	if wrong := decodeStrictly(text, &meta); wrong != nil {
		return wrong
	}
	validName := apivalidation.NameIsDNSSubdomain
	if object.GetKind() == "Namespace" {
		validName = apivalidation.ValidateNamespaceName
	}
	return errorTexts(apivalidation.ValidateObjectMeta(&meta, namespaced, validName, field.NewPath("metadata")))
}

// checkObject checks an object as the API server does; it fills in the defaults.
func (k *customKind) checkObject(object map[string]any) []string {
	var wrong []string
	unknown := pruning.PruneWithOptions(runtime.DeepCopyJSON(object), k.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		wrong = append(wrong, path+": unknown field")
	}
	defaulting.Default(object, k.structural)
	wrong = append(wrong, errorTexts(validation.ValidateCustomResource(nil, object, k.openAPI))...)
	wrong = append(wrong, errorTexts(listtype.ValidateListSetsAndMaps(nil, k.structural, object))...)
	if k.rules != nil && len(wrong) == 0 { // rules assume that the types are right
		broken, _ := k.rules.Validate(context.Background(), nil, k.structural, object, nil, celconfig.RuntimeCELCostBudget)
		wrong = append(wrong, errorTexts(broken)...)
	}
	return wrong
}

func errorTexts(errs field.ErrorList) []string {
	out := make([]string, len(errs))
	for i, err := range errs {
		out[i] = err.Error()
	}
	return out
}
