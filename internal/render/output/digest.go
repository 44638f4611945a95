package output

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/values"
)

type digest [16]byte

// hasher prefixes inputs with their length, so that different sequences have different
// digests.
type hasher struct {
	h   hash.Hash
	buf []byte
}

func newHasher() *hasher { return &hasher{h: sha256.New()} }

func (h *hasher) writeTexts(texts ...string) {
	for _, t := range texts {
		h.buf = binary.AppendUvarint(h.buf[:0], uint64(len(t)))
		h.buf = append(h.buf, t...)
		h.h.Write(h.buf)
	}
}

func (h *hasher) writeNumber(n int) {
	h.buf = binary.AppendUvarint(h.buf[:0], uint64(n))
	h.h.Write(h.buf)
}

func (h *hasher) writeDigest(d digest) { h.h.Write(d[:]) }

func (h *hasher) writeLabels(m map[string]string) {
	h.writeNumber(len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		h.writeTexts(key, m[key])
	}
}

func (h *hasher) sum() (d digest) {
	copy(d[:], h.h.Sum(nil))
	return d
}

func targetDigest(t *model.Target) digest {
	h := newHasher()
	h.writeTexts(t.Name, t.Workload, t.Workspace)
	if t.Team {
		h.writeNumber(1)
	}
	h.writeLabels(t.Labels)
	h.writeLabels(t.Manifests)
	if pinned := t.Pinned; pinned != nil {
		h.writeTexts(pinned.Release)
		for _, named := range []map[string]map[string]string{pinned.Versions, pinned.Images} {
			h.writeNumber(len(named))
			for _, name := range slices.Sorted(maps.Keys(named)) {
				h.writeTexts(name)
				h.writeLabels(named[name])
			}
		}
	}
	h.writeNumber(len(t.Schemas))
	for _, s := range t.Schemas {
		h.writeTexts(s.Text)
	}
	h.writeNumber(len(t.DependsOn))
	for _, d := range t.DependsOn {
		h.writeTexts(d.Name)
	}
	return h.sum()
}

func templateDigest(t *model.Template) digest {
	h := newHasher()
	h.writeTexts(t.Name, t.Engine, t.ContentType)
	h.writeNumber(t.Expansions)
	h.writeNumber(len(t.Manifests))
	for _, m := range t.Manifests {
		h.writeTexts(m.Text)
	}
	return h.sum()
}

func (p *pass) rowInputs(i int) rowInputs {
	c := rowInputs{labels: p.labels[i], configs: p.configs}
	for which, t := range p.templates[i] {
		if t != nil {
			c.templates[which] = t.digest
		}
	}
	return c
}

func valuesDigest(v *values.Values) digest {
	if len(v.Schemas) == 0 {
		return digest(v.Digest)
	}
	h := newHasher()
	h.writeDigest(digest(v.Digest))
	for _, s := range v.Schemas {
		h.writeTexts(s.Text)
	}
	return h.sum()
}
