package kustomize

import (
	"cmp"
	"strings"
)

// patched checks the patches and replacements.
func (c *check) patched(k kustomization) int {
	size := 0
	for _, p := range k.spec.Patches {
		size += c.patch(k.source, "patches", p.Path, p.Patch)
	}
	//lint:ignore SA1019 control planes still have it, and krusty reads it
	for _, p := range k.spec.PatchesJson6902 {
		size += c.patch(k.source, "patchesJson6902", p.Path, p.Patch)
	}
	//lint:ignore SA1019 control planes still have it, and krusty reads it
	for _, p := range k.spec.PatchesStrategicMerge {
		size += c.strategicPatch(k.ref("patchesStrategicMerge", string(p)))
	}
	for _, r := range k.spec.Replacements {
		if r.Path != "" {
			_, n := c.data(k.ref("replacements path", r.Path))
			size += n
		}
	}
	return size
}

// patch checks a patch that is a file or inline, by the field that it is in.
func (c *check) patch(s *source, field, path, inline string) int {
	size := 0
	if path != "" {
		r := s.ref(field+" path", path)
		if at, data, ok := c.file(r); ok {
			size += c.patchText(r, at, data)
		}
	}
	if inline != "" {
		size += c.inlinePatch(s.ref(field+" patch", inline))
	}
	return size
}

// strategicPatch checks a patch that is inline, if it can be parsed as objects,
// and the path of a file otherwise.
func (c *check) strategicPatch(r ref) int {
	if inline, size := c.isInline(r); inline {
		return size
	}
	at, data, ok := c.file(r)
	if !ok {
		return 0
	}
	return c.patchText(r, at, data)
}

func (c *check) inlinePatch(r ref) int {
	size, err := parseData([]byte(r.value))
	if err == nil {
		err = c.printable([]byte(r.value), size)
	}
	if err != nil {
		c.refuse(r, cmp.Or(hintFor(err), hintObjects), "kustomize cannot read the patch: %s", oneLine(err.Error()))
	}
	return size
}

func (c *check) patchText(r ref, at string, text []byte) int {
	size, err := parseData(text)
	if err == nil {
		err = c.printable(text, size)
	}
	if err != nil {
		c.refuseFile(r, at, lineOf(err), cmp.Or(hintFor(err), hintObjects), "kustomize cannot read the patch: %s", oneLine(err.Error()))
	}
	return size
}

// printable returns an error if the objects of a patch cannot be printed. A text that is
// not objects may be a JSON patch, which krusty checks.
func (c *check) printable(text []byte, size int) error {
	if size > maxInput {
		return nil
	}
	objects, err := c.factory.RF().SliceFromBytes(text)
	if err != nil {
		return nil
	}
	for _, r := range objects {
		if _, err := r.MarshalJSON(); err != nil {
			return err
		}
	}
	return nil
}

// isInline reports whether krusty takes the value for objects and not for a
// path. What cannot be parsed is a path, if it is short enough for one.
func (c *check) isInline(r ref) (inline bool, size int) {
	text := []byte(r.value)
	size, err := parseData(text)
	switch {
	case err != nil && strings.Contains(r.value, "\n"):
		c.refuse(r, hintSyntax, "the inline YAML cannot be read: %v", err)
		return true, 0
	case err != nil:
		return false, 0
	case size > maxInput:
		return true, size
	}
	if _, err := c.factory.RF().SliceFromBytes(text); err != nil {
		return false, 0
	}
	if err := c.printable(text, size); err != nil {
		c.refuse(r, hintObjects, "kustomize cannot read the inline YAML: %s", oneLine(err.Error()))
	}
	return true, size
}
