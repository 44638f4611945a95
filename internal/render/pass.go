package render

import "sync"

// Pass is one run over the assignments of a model. It remembers the texts that
// assignments share, and is forgotten with the run. It may be used concurrently;
// the zero value is ready to use.
type Pass struct{ texts texts }

// memoKey is a part of a template, and the data that it reads.
type memoKey struct {
	engine      *textEngine
	block       int
	environment string
	scope       any
}

// maxTexts bounds what is remembered: where every assignment has values of its own
// there is nothing to share, and no memory is to be spent on it.
const maxTexts = 1 << 13

// block gives the text of a block, expanding it if nobody with the same data did.
func (p *Pass) block(e *textEngine, b *blockPart, d *Data, s Scope) ([]byte, *Mistake) {
	scope, shared := b.scope(s)
	if !shared || d.Changes() && b.reads&fieldBit["ConfigData"] != 0 {
		return b.expand(d)
	}
	texts, key := &p.texts, memoKey{e, b.index, d.Environment, scope}
	if b.ofValues() {
		texts = &e.ofValues // values are known by their digest, so that it outlives the pass
	}
	if text, ok := texts.find(key); ok {
		return text, nil
	}
	text, mistake := b.expand(d)
	if mistake == nil {
		texts.keep(key, text)
	}
	return text, mistake
}

// texts are expanded blocks. The zero value is ready to use.
type texts struct {
	mu    sync.RWMutex
	known map[memoKey][]byte
}

func (t *texts) find(key memoKey) ([]byte, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	text, ok := t.known[key]
	return text, ok
}

func (t *texts) keep(key memoKey, text []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= maxTexts {
		t.known = map[memoKey][]byte{}
	}
	t.known[key] = text
}

// ofValues reports whether the text of a block depends on the values alone.
func (b *blockPart) ofValues() bool {
	return b.reads&fieldBit["ConfigData"] != 0 && b.reads&^ofValues == 0
}

// scope gives what identifies the data that a block reads, if assignments share
// them.
func (b *blockPart) scope(s Scope) (any, bool) {
	switch {
	case b.reads&^fieldSet("Environment") == 0:
		return nil, true
	case b.reads&^ofValues == 0:
		return s.Values, true
	case b.reads&^ofTarget == 0:
		return s.Target, s.Target != nil
	case b.reads&^ofClusterType == 0:
		return s.ClusterType, s.ClusterType != nil
	}
	return nil, false
}
