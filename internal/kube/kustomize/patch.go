package kustomize

import (
	"cmp"
	"strings"
)

func (c *checker) checkPatches(k kustomization) int {
	size := 0
	for _, p := range k.spec.Patches {
		size += c.checkPatch(k.source, "patches", p.Path, p.Patch)
	}
	//lint:ignore SA1019 control planes still have it, and krusty reads it
	for _, p := range k.spec.PatchesJson6902 {
		size += c.checkPatch(k.source, "patchesJson6902", p.Path, p.Patch)
	}
	//lint:ignore SA1019 control planes still have it, and krusty reads it
	for _, p := range k.spec.PatchesStrategicMerge {
		size += c.checkStrategicPatch(k.newRef("patchesStrategicMerge", string(p)))
	}
	for _, r := range k.spec.Replacements {
		if r.Path != "" {
			_, n := c.checkData(k.newRef("replacements path", r.Path))
			size += n
		}
	}
	return size
}

func (c *checker) checkPatch(s *source, field, path, inline string) int {
	size := 0
	if path != "" {
		size += c.checkPatchFile(s.newRef(field+" path", path))
	}
	if inline != "" {
		n, err := c.measurePatch([]byte(inline))
		if err != nil {
			c.refuseRef(s.newRef(field+" patch", inline), cmp.Or(syntaxHint(err), hintObjects), "kustomize cannot read the patch: %s", oneLine(err.Error()))
		}
		size += n
	}
	return size
}

// checkStrategicPatch takes text that parses as objects as inline, and other text as a path.
func (c *checker) checkStrategicPatch(r nameRef) int {
	if inline, size := c.isInline(r); inline {
		return size
	}
	return c.checkPatchFile(r)
}

func (c *checker) checkPatchFile(r nameRef) int {
	at, data, ok := c.readFile(r)
	if !ok {
		return 0
	}
	size, err := c.measurePatch(data)
	if err != nil {
		c.refuseFile(r, at, errorLine(err), cmp.Or(syntaxHint(err), hintObjects), "kustomize cannot read the patch: %s", oneLine(err.Error()))
	}
	return size
}

func (c *checker) measurePatch(text []byte) (size int, err error) {
	size, err = measureData(text)
	if err == nil {
		err = c.checkPrintable(text, size)
	}
	return size, err
}

// checkPrintable ignores text that is not objects: it may be a JSON patch, which krusty checks.
func (c *checker) checkPrintable(text []byte, size int) error {
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

// isInline reports whether krusty takes the value for objects. Text that cannot be parsed is a
// path, unless it has several lines.
func (c *checker) isInline(r nameRef) (inline bool, size int) {
	text := []byte(r.value)
	size, err := measureData(text)
	switch {
	case err != nil && strings.Contains(r.value, "\n"):
		c.refuseRef(r, hintSyntax, "the inline YAML cannot be read: %v", err)
		return true, 0
	case err != nil:
		return false, 0
	case size > maxInput:
		return true, size
	}
	if _, err := c.factory.RF().SliceFromBytes(text); err != nil {
		return false, 0
	}
	if err := c.checkPrintable(text, size); err != nil {
		c.refuseRef(r, hintObjects, "kustomize cannot read the inline YAML: %s", oneLine(err.Error()))
	}
	return true, size
}
