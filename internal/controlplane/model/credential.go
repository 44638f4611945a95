package model

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

const externalSecretGroup = "external-secrets.io"

// Credential provides a Secret: a Secret that SOPS encrypted, or an ExternalSecret.
type Credential struct {
	Object
	// Namespace and SecretName are those of the Secret.
	Namespace, SecretName string
	// Keys are those of the Secret, sorted; nil if they are not known.
	Keys []string
	// Text is the file: what SOPS encrypted is passed on byte for byte.
	Text []byte
	// Node is the object of an ExternalSecret, without aliases.
	Node *yaml.Node
	// Digest is that of the encrypted values of a Secret, or of the spec of an ExternalSecret.
	Digest string
	// Mixed is true if the file has other objects, or is the output of a kustomization.
	Mixed bool

	clear problem.List // values that anyone can read
}

// Path returns the namespace and the name of the Secret.
func (c *Credential) Path() string { return c.Namespace + "/" + c.SecretName }

// IsExternal reports whether an operator on the cluster fetches the Secret.
func (c *Credential) IsExternal() bool { return c.Kind != "Secret" }

func isCredential(h header) bool {
	group, _, _ := strings.Cut(h.apiVersion, "/")
	return h.apiVersion == "v1" && h.kind == "Secret" || group == externalSecretGroup && h.kind == "ExternalSecret"
}

// readCredential reads a Secret or an ExternalSecret. Both are counted like other kinds too: without a
// manifest of clusters they mean nothing here.
func (r *reader) readCredential(n *yaml.Node, h header) {
	r.out.countIgnored(h.apiVersion+" "+h.kind, 1)
	r.checkForeign(n, h)
	if r.layer.Kind == Workloads {
		return
	}
	pos := r.positionAt(n.Line)
	c := &Credential{
		Object: Object{Kind: h.kind, Name: nameOf(n), Pos: pos}, SecretName: nameOf(n),
		Namespace: cmp.Or(yamldoc.FindText(n, "metadata", "namespace"), defaultNamespace), Text: r.text, Mixed: r.built,
	}
	if c.IsExternal() {
		c.SecretName = cmp.Or(yamldoc.FindText(n, "spec", "target", "name"), c.Name)
		c.Keys = externalKeys(n)
		c.Node = (&decoder{problems: &problem.List{}, root: n, budget: nodeBudget}).copyNode(n)
		c.Digest = digestNodes(yamldoc.FindValue(c.Node, "spec"))
		r.checkTemplate(c, yamldoc.FindValue(n, "spec", "target", "template", "data"))
	} else {
		c.Keys = append(keysOf(n, "data"), keysOf(n, "stringData")...)
		c.Digest = digestNodes(yamldoc.FindValue(n, "data"), yamldoc.FindValue(n, "stringData"))
		found, clear := manifest.FindPlaintextSecret(manifest.Object{APIVersion: h.apiVersion, Kind: h.kind, Name: c.Name, Node: n}, n)
		if clear {
			c.clear.Addf(r.positionAt(found.Line), c.Subject(), hintClear, "%s", strings.TrimPrefix(found.Summary, found.Object+" "))
		}
		if applied := yamldoc.FindValue(n, "metadata", "annotations", lastApplied); applied != nil && !strings.HasPrefix(applied.Value, "ENC[") {
			c.clear.Addf(r.positionAt(applied.Line), c.Subject(), "remove the annotation, and change the values: they are in the history of the repository", "the annotation %s has the values in clear", lastApplied)
		}
	}
	slices.Sort(c.Keys)
	r.out.clusters.credentials = append(r.out.clusters.credentials, c)
}

func digestNodes(nodes ...*yaml.Node) string {
	sum := sha256.New()
	var add func(n *yaml.Node)
	add = func(n *yaml.Node) {
		fmt.Fprintf(sum, "%d %q", n.Kind, n.Value)
		for _, child := range n.Content {
			add(child)
		}
	}
	for _, n := range nodes {
		if n != nil {
			add(n)
		}
		sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// lastApplied is the annotation in which kubectl apply keeps all of an object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

const hintClear = "encrypt it with SOPS, or use an ExternalSecret, and change it: it is in the history of the repository"

// publicKeys are those of Secrets of manifests of clusters that are no secrets.
var publicKeys = []string{"username", "endpoint", "authurl", "baseurl", "gcpproject", "servicename", "teamid", "accountid", "projectid", "domainid"}

func (r *reader) checkTemplate(c *Credential, data *yaml.Node) {
	if data == nil || data.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(data.Content); i += 2 {
		key, value := data.Content[i].Value, yamldoc.ResolveAlias(data.Content[i+1]).Value
		if value != "" && !strings.Contains(value, "{{") && !slices.Contains(publicKeys, key) {
			c.clear.Addf(r.positionAt(data.Content[i].Line), c.Subject(), "fetch it from the store, and change it: it is in the history of the repository", "the value of %s is in clear", key)
		}
	}
}

// externalKeys returns the keys of the Secret that an ExternalSecret makes; nil if the store decides.
func externalKeys(n *yaml.Node) []string {
	if yamldoc.FindValue(n, "spec", "dataFrom") != nil {
		return nil
	}
	if keys := keysOf(n, "spec", "target", "template", "data"); keys != nil {
		return keys
	}
	if yamldoc.FindValue(n, "spec", "target", "template", "templateFrom") != nil {
		return nil
	}
	keys := []string{}
	if data := yamldoc.FindValue(n, "spec", "data"); data != nil {
		for _, item := range data.Content {
			keys = append(keys, yamldoc.FindText(yamldoc.ResolveAlias(item), "secretKey"))
		}
	}
	return keys
}

func keysOf(n *yaml.Node, path ...string) []string {
	mapping := yamldoc.FindValue(n, path...)
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	keys := []string{}
	for i := 0; i < len(mapping.Content); i += 2 {
		keys = append(keys, mapping.Content[i].Value)
	}
	return keys
}

// ReadCredentials returns what the files of a folder of an output provide Secrets by.
func ReadCredentials(files tree.Tree) []*Credential {
	return NewParser().readLayer("", Layer{Kind: Env, Files: files}).clusters.credentials
}

// sortCredentials returns credentials sorted by the Secrets that they provide. It reports values that
// anyone can read, and Secrets that two objects provide.
func sortCredentials(written []*Credential, problems *problem.List) []*Credential {
	sorted := slices.SortedFunc(slices.Values(written), func(a, b *Credential) int {
		return cmp.Or(cmp.Compare(a.Path(), b.Path()), a.Pos.Compare(b.Pos))
	})
	for i, c := range sorted {
		*problems = append(*problems, c.clear...)
		if i > 0 && sorted[i-1].Path() == c.Path() {
			problems.Addf(c.Pos, c.Subject(), "remove one of them", "the Secret %s is provided twice, first at %s", c.Path(), sorted[i-1].Pos)
		}
	}
	return sorted
}
