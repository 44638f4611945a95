package recorder

import (
	"context"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// maxLate limits the held late spans of an object; the oldest are dropped.
const maxLate = 32

func (c *changes) addLate(s ledger.LateSpan) {
	all := append(c.late[s.Object], s.Span)
	c.late[s.Object] = all[max(len(all)-maxLate, 0):]
}

func (c *changes) hasLate(cluster string) bool {
	for o := range c.late {
		if o.Cluster == cluster {
			return true
		}
	}
	return false
}

// putLate inserts late spans into the stored ones. There are rarely any, so the normal path is
// cheap.
func (r *Recorder) putLate(ctx context.Context, write func(context.Context) (bool, error)) error {
	r.mu.Lock()
	objects := ledger.SortObjects(r.pending.late)
	r.mu.Unlock()
	if len(objects) == 0 {
		return nil
	}
	for _, o := range objects {
		err := r.putLateOf(ctx, o)
		if err != nil {
			return err
		}
	}
	_, err := write(ctx)
	return err
}

// putLateOf inserts late spans, unless the object has changed meanwhile; then they wait.
func (r *Recorder) putLateOf(ctx context.Context, o ledger.Object) error {
	r.mu.Lock()
	late := r.pending.late[o]
	r.mu.Unlock()
	first := late[0].Since
	for _, s := range late {
		if s.Since.Before(first) {
			first = s.Since
		}
	}
	stored, err := r.store.FindSpansSince(ctx, o, first)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending.objects[o] || len(r.pending.late[o]) != len(late) {
		return nil
	}
	delete(r.pending.late, o)
	writes, ok := r.ledger.PutBetween(o, stored, late)
	if !ok { // another process stored more, and held contacts will be received again
		return nil
	}
	r.pending.add(ledger.Receipt{Writes: writes})
	return nil
}
