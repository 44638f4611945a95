package clusters

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

type checker struct {
	*resolver
	object   *model.Composed
	manifest *Manifest
	spec     *claudie.Spec
	index    *index
}

// fieldPath is the path to a field: keys and list indexes.
type fieldPath []any

func (p fieldPath) child(steps ...any) fieldPath {
	return append(p[:len(p):len(p)], steps...)
}

// Limits that keep names of nodes within 63 characters: cluster, hash, pool, hash and
// two digits.
const (
	maxProviderName = 15
	maxPoolName     = 14
	maxClusterName  = 28
	maxLabel        = kubename.MaxLabel
)

const maxListed = 12

const nameHint = "lower case letters, digits and hyphens, with a letter or digit at both ends"

func (c *checker) addf(path fieldPath, hint, format string, args ...any) {
	c.problems.Addf(c.object.PositionOf(path...), c.subject(), hint, format, args...)
}

func (c *checker) warnf(path fieldPath, hint, format string, args ...any) {
	c.problems.Warnf(c.object.PositionOf(path...), c.subject(), hint, format, args...)
}

func (c *checker) subject() string {
	if c.manifest != nil && c.object == &c.manifest.Composed {
		return c.manifest.Subject()
	}
	return c.object.Subject()
}

func (c *checker) isWritten(path fieldPath) bool { return c.object.IsWritten(path...) }

// String returns the keys after the last list index.
func (p fieldPath) String() string {
	var keys []string
	for _, step := range p {
		key, ok := step.(string)
		if !ok {
			keys = nil
			continue
		}
		keys = append(keys, key)
	}
	return strings.Join(keys, ".")
}

// isMisread reports whether a zero field has a value of a wrong type in the file, which
// was reported when reading.
func (c *checker) isMisread(path fieldPath) bool {
	text, written := c.object.TextOf(path...)
	return written && text != "" && text != "0" && text != "null" && text != "~"
}

func (c *checker) requireText(what string, path fieldPath, text string) bool {
	if text == "" && !c.isMisread(path) {
		c.addf(path, "", "%s%s is required", prefixOf(what), path)
	}
	return text != ""
}

// prefixOf returns the start of a sentence about what; "" for the whole object.
func prefixOf(what string) string {
	if what == "" {
		return ""
	}
	return what + ": "
}

func (c *checker) checkName(kind string, path fieldPath, name string, limit int) {
	switch {
	case name == "":
		c.requireText(kind, path, name)
	case len(name) > limit:
		c.addf(path, "shorten it: it is a part of the names of nodes", "%s %s: the name is %d characters long, and %d is the limit", kind, name, len(name), limit)
	case !kubename.IsDNSLabel(name):
		c.addf(path, nameHint, "%s: the name cannot be %q", kind, name)
	}
}

var word = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$`)

// checkWord reports names that Claudie accepts but that break the names of its
// resources.
func (c *checker) checkWord(kind string, path fieldPath, name string) {
	if name != "" && !word.MatchString(name) {
		c.addf(path, "letters, digits, '-' and '_', with a letter or digit at both ends", "%s: the name cannot be %q", kind, name)
	}
}

// nodeLabelSafe is Claudie's replacement in label values.
var nodeLabelSafe = strings.NewReplacer(" ", "-", ":", "-", "_", "-")

// checkPlace reports a region or zone that cannot be a node label.
func (c *checker) checkPlace(what string, path fieldPath, text string) {
	if text != "" && kubename.CheckLabelValue(nodeLabelSafe.Replace(text)) != nil {
		c.addf(path, "", "%s: %s cannot be %q: it becomes a label of nodes", what, path, text)
	}
}

func (c *checker) checkTwice(kind string, path fieldPath, name string, seen map[string]fieldPath) {
	if name == "" {
		return
	}
	if first, twice := seen[name]; twice {
		c.addf(path, "give one of them another name", "%s %s is written twice, first at %s", kind, name, c.object.PositionOf(first...))
		return
	}
	seen[name] = path
}

func (c *checker) checkNames(what string, path fieldPath, written []string, kind string, known names) {
	seen := map[string]bool{}
	for i, name := range written {
		switch at := path.child(i); {
		case name == "":
			c.addf(at, "remove it", "%s: %s has an empty name", what, path)
		case seen[name]:
			c.addf(at, "remove one of them", "%s: %s has %s twice", what, path, name)
		default:
			c.checkKnown(what, at, name, kind, known)
		}
		seen[name] = true
	}
}

func (c *checker) checkKnown(what string, path fieldPath, name, kind string, known names) bool {
	if known.has(name) {
		return true
	}
	list := slices.DeleteFunc(slices.Clone(known.list()), func(name string) bool { return name == "" })
	hint := problem.DidYouMean(name, list)
	if hint == "" && len(list) > 0 && len(list) <= maxListed {
		hint = "there is " + strings.Join(list, ", ")
	}
	c.addf(path, hint, "%s: there is no %s %s", what, kind, name)
	return false
}

func (c *checker) checkSecret(what string, path fieldPath, ref claudie.Reference, keys ...string) {
	if ref.Name == "" || ref.Namespace == "" {
		c.addf(path, "write both", "%s%s has no name, or no namespace", prefixOf(what), path)
		return
	}
	if kubename.Check(ref.Name) != nil || !kubename.IsDNSLabel(ref.Namespace) {
		c.addf(path, "name the Secret as it is on the management cluster", "%s%s cannot be %q in the namespace %q", prefixOf(what), path, ref.Name, ref.Namespace)
		return
	}
	name := ref.Namespace + "/" + ref.Name
	if c.manifest != nil && c.manifest.HasExistingSecret(name) {
		return
	}
	found := c.secrets[name]
	if found == nil {
		c.addf(path, "add it as a Secret that SOPS encrypts, or as an ExternalSecret; or, if the management cluster has it, to the annotation "+model.ExistingSecretsAnnotation,
			"%snothing in the control plane provides the Secret %s", prefixOf(what), name)
		return
	}
	if found.Mixed && !found.IsExternal() {
		c.problems.Addf(found.Pos, found.Subject(), "move it there, outside of kustomizations: what SOPS encrypted is passed on byte for byte", "a manifest of clusters needs the Secret, which is not in a file of its own")
	}
	if found.Keys == nil && found.IsExternal() {
		return
	}
	for _, key := range keys {
		if !slices.Contains(found.Keys, key) {
			c.addf(path, cmp.Or(problem.DidYouMean(key, found.Keys), "add it to "+found.Subject()+" at "+found.Pos.String()), "%sthe Secret %s has no key %s", prefixOf(what), name, key)
		}
	}
}

// HasExistingSecret reports whether the manifest declares that the management cluster
// has a Secret.
func (m *Manifest) HasExistingSecret(name string) bool {
	return slices.Contains(splitWords(m.Annotations[model.ExistingSecretsAnnotation]), name)
}

func splitWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
}

func newNames(all []string) names {
	return names{func(name string) bool { return slices.Contains(all, name) }, func() []string { return all }}
}
