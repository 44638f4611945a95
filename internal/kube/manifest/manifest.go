// Package manifest reads rendered Kubernetes text: which objects it holds, and what makes it
// unfit for a GitOps repository.
//
// Unfit is text that is not UTF-8, is not YAML, has a key twice in one
// mapping, expands without bound through aliases, or shows a Secret in plain
// text. Everything else is fit: any number of documents, documents that are no
// Kubernetes objects, comments only, nothing at all.
//
// YAML means what gopkg.in/yaml.v3 reads. Since hundreds of thousands of files
// are checked in one run, [Check] first asks a small reader that knows only the
// plain style in which such files are written. What the package keeps true: a
// text that the small reader accepts is one that the full check has no finding
// for; any other text is left to the full check. A fuzz test compares the two.
package manifest

import (
	"cmp"
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"
)

// Finding is something that makes rendered text unfit for a GitOps repository.
type Finding struct {
	// Line counts from 1, from the start of the text.
	Line int
	// Object is what the finding is about, as "Kind/name"; "" if that is not known.
	Object string
	// Summary is one sentence, without a full stop. It never holds a value.
	Summary string
	// Hint is the remedy.
	Hint string
}

// Error returns the line and the summary.
func (f *Finding) Error() string { return fmt.Sprintf("line %d: %s", f.Line, f.Summary) }

const (
	hintEncoding  = "save the template, and the values that it reads, as UTF-8"
	hintSyntax    = "check the indentation here, and quote values that hold \": \" or start with one of * & ! % @ ` { [ or a tab"
	hintDuplicate = "keep one of the two: programs disagree on which one counts"
	hintAliases   = "write the values out instead of repeating them through aliases"
	hintSecret    = "encrypt it with SOPS, or use an ExternalSecret"
)

// Check reports everything that makes text unfit for a GitOps repository, in
// the order of lines; nil when the text is fine. It allocates nothing for text
// in the usual style.
func Check(text []byte) []Finding {
	if isSurelyFine(text) {
		return nil
	}
	return inspectText(text)
}

// inspectText is Check by the real decoder.
func inspectText(text []byte) []Finding {
	var found []Finding
	documents, err := Documents("the text", text, nil)
	for _, root := range documents {
		found = append(found, inspectDocument(root)...)
	}
	if err != nil {
		found = append(found, *err)
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return found
}

func inspectDocument(root *yaml.Node) []Finding {
	if err := checkExpansion(root); err != nil {
		return append(findDuplicates(root, nil), *err)
	}
	objects := splitLists(root, "", "")
	found := findDuplicates(root, objects)
	for _, o := range objects {
		if f, ok := FindPlaintextSecret(o, root); ok {
			found = append(found, f)
		}
	}
	return found
}

// FindDuplicates reports the keys that a mapping below root has twice.
func FindDuplicates(root *yaml.Node) []Finding { return findDuplicates(root, nil) }

// findDuplicates finds the keys that a mapping below root has twice. Two keys are
// the same as yaml.v3 has it when it fills a map: if they are of one kind and
// their text is equal, whatever their tags, and "<<" is no exception.
func findDuplicates(root *yaml.Node, objects []Object) []Finding {
	names := map[*yaml.Node]string{}
	for _, o := range objects {
		names[o.Node] = o.displayName()
	}
	var found []Finding
	// Aliases are not followed: what they stand for is looked at where it is written.
	var walk func(n *yaml.Node, object string)
	walk = func(n *yaml.Node, object string) {
		if name, ok := names[n]; ok {
			object = name
		}
		if n.Kind == yaml.MappingNode {
			found = append(found, findRepeatedKeys(n, object)...)
		}
		for _, child := range n.Content {
			walk(child, object)
		}
	}
	walk(root, "")
	return found
}

func findRepeatedKeys(mapping *yaml.Node, object string) []Finding {
	type key struct {
		kind  yaml.Kind
		value string
	}
	var found []Finding
	lines := make(map[key]int, len(mapping.Content)/2)
	for i := 0; i < len(mapping.Content); i += 2 {
		n := mapping.Content[i]
		k := key{n.Kind, n.Value}
		first, seen := lines[k]
		if !seen {
			lines[k] = n.Line
			continue
		}
		found = append(found, Finding{
			Line:    n.Line,
			Object:  object,
			Summary: fmt.Sprintf("key %q is given twice in one mapping, first on line %d", n.Value, first),
			Hint:    hintDuplicate,
		})
	}
	return found
}
