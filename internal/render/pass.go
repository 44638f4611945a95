package render

import "sync"

// Pass is one run over the assignments of a model. It remembers the texts that
// assignments share, and is forgotten with the run. It may be used concurrently;
// the zero value is ready to use.
type Pass struct {
	mu    sync.RWMutex
	texts map[memoKey][]byte
}

// memoKey is a part of a template, and the data that it reads.
type memoKey struct {
	engine *textEngine
	block  int
	scope  any
}

// maxTexts bounds what a pass remembers. Where every assignment has values of its
// own there is nothing to share, and no memory is to be spent on it.
const maxTexts = 1 << 14

// block gives the text of a block, expanding it if nobody with the same data did.
func (p *Pass) block(e *textEngine, b *blockPart, d *Data, s Scope) ([]byte, *Mistake) {
	scope, shared := b.scope(s)
	if !shared {
		return b.expand(d)
	}
	key := memoKey{e, b.index, scope}
	p.mu.RLock()
	text, ok := p.texts[key]
	p.mu.RUnlock()
	if ok {
		return text, nil
	}
	text, mistake := b.expand(d)
	if mistake != nil {
		return nil, mistake
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.texts == nil {
		p.texts = map[memoKey][]byte{}
	}
	if len(p.texts) < maxTexts {
		p.texts[key] = text
	}
	return text, nil
}

// scope gives what identifies the data that a block reads, if assignments share
// them.
func (b *blockPart) scope(s Scope) (any, bool) {
	switch {
	case b.reads&^fieldSet("Environment") == 0:
		return nil, true
	case b.reads&^ofValues == 0:
		return s.Values, s.Values != nil
	case b.reads&^ofTarget == 0:
		return s.Target, s.Target != nil
	case b.reads&^ofClusterType == 0:
		return s.ClusterType, s.ClusterType != nil
	}
	return nil, false
}
