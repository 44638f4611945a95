// Package manifest reads rendered Kubernetes text and finds what makes it unfit for a GitOps
// repository.
//
// Unfit is text that is not UTF-8 or not YAML (gopkg.in/yaml.v3), has duplicate keys, expands
// without bound, or shows a Secret in plain text. Everything else is fit, including text without
// Kubernetes objects.
//
// Because one run checks hundreds of thousands of files, [Check] first tries a small reader for the
// usual plain style. What the package keeps true: the full check has no finding for a text that the
// small reader accepts. A fuzz test compares the two.
package manifest

import (
	"cmp"
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"
)

// Finding is a reason why rendered text is unfit.
type Finding struct {
	Line int
	// Object is "Kind/name"; "" if unknown.
	Object string
	// Summary is one sentence, without a full stop. It never contains a value.
	Summary string
	Hint    string
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

// Check returns everything that makes text unfit, by line. It allocates nothing for text in the
// usual style.
func Check(text []byte) []Finding {
	if isSurelyFine(text) {
		return nil
	}
	return inspectText(text)
}

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

// FindDuplicates reports duplicate keys of mappings below root.
func FindDuplicates(root *yaml.Node) []Finding { return findDuplicates(root, nil) }

// findDuplicates compares keys as yaml.v3 does when it fills a map: by kind and text, whatever
// their tags, including "<<".
func findDuplicates(root *yaml.Node, objects []Object) []Finding {
	names := map[*yaml.Node]string{}
	for _, o := range objects {
		names[o.Node] = o.displayName()
	}
	var found []Finding
	// Anchors are visited where they are written, so aliases are not followed.
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
