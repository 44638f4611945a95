package render

import (
	"cmp"
	"sync"
	"sync/atomic"
)

// Pass is one run over the assignments of a model. It caches shared texts during the
// run. It is safe for concurrent use; the zero value is ready to use.
type Pass struct {
	// Canceled reports whether the texts are unwanted. It may be nil and must be safe
	// for concurrent use.
	Canceled func() bool
	// MaxSteps bounds the work in steps of templates; 0 is the default.
	MaxSteps int64

	texts    textCache
	finished atomic.Bool
	spent    atomic.Int64
	engines  sync.Map // steps of each, as *atomic.Int64
}

// maxPassSteps is about a minute, far above the needs of 100,000 assignments.
const maxPassSteps = 1 << 29

// Exhausted reports whether the pass has used up its steps.
func (p *Pass) Exhausted() bool {
	return !p.finished.Load() && p.spent.Load() > cmp.Or(p.MaxSteps, maxPassSteps)
}

// Finish ends the pass. Its texts may be rendered again, without MaxSteps and Canceled.
func (p *Pass) Finish() { p.finished.Store(true) }

// IsFinished reports whether the pass has ended.
func (p *Pass) IsFinished() bool { return p.finished.Load() }

func (p *Pass) chargeEngine(e engine, steps int) {
	p.spent.Add(int64(steps))
	of, ok := p.engines.Load(e)
	if !ok {
		of, _ = p.engines.LoadOrStore(e, &atomic.Int64{})
	}
	of.(*atomic.Int64).Add(int64(steps))
}

// Charge adds steps of other work, such as validation.
func (p *Pass) Charge(steps int) { p.spent.Add(int64(steps)) }

// Steps returns the steps that a template took.
func (p *Pass) Steps(t *Template) int64 {
	engine := t.engine
	if k, ok := engine.(*kustomizeEngine); ok {
		engine = k.text
	}
	if of, ok := p.engines.Load(engine); ok {
		return of.(*atomic.Int64).Load()
	}
	return 0
}

type memoKey struct {
	engine      *textEngine
	block       int
	environment string
	scope       any
}

// maxTexts bounds a cache, which is useless if nothing is shared.
const maxTexts = 1 << 13

// textCache caches expanded blocks. The zero value is ready to use.
type textCache struct {
	mu    sync.RWMutex
	known map[memoKey][]byte
}

func (t *textCache) get(key memoKey) ([]byte, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	text, ok := t.known[key]
	return text, ok
}

func (t *textCache) put(key memoKey, text []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= maxTexts {
		t.known = map[memoKey][]byte{}
	}
	t.known[key] = text
}

func (b *blockPart) readsOnlyValues() bool {
	return b.uses.reads&fieldBits["ConfigData"] != 0 && b.uses.reads&^valueFields == 0
}

// sharedKey returns the key of the data that a block reads; false if assignments do not
// share them.
func (b *blockPart) sharedKey(s Scope) (any, bool) {
	switch reads := b.uses.reads; {
	case reads&^fieldSet("Environment") == 0:
		return nil, true
	case reads&^valueFields == 0:
		return s.Values, true
	case reads&^targetFields == 0:
		return s.Target, s.Target != nil
	case reads&^clusterTypeFields == 0:
		return s.ClusterType, s.ClusterType != nil
	}
	return nil, false
}
