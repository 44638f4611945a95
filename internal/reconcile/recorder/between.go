package recorder

import (
	"context"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// maxLate is how many late spans of an object are held while its store is away. The oldest ones are given
// up first.
const maxLate = 32

// addLate adds a span that is to be put between those that are stored.
func (c *changes) addLate(s ledger.LateSpan) {
	all := append(c.late[s.Object], s.Span)
	c.late[s.Object] = all[max(len(all)-maxLate, 0):]
}

// hasLate reports whether spans of a cluster are to be put between those that are stored.
func (c *changes) hasLate(cluster string) bool {
	for o := range c.late {
		if o.Cluster == cluster {
			return true
		}
	}
	return false
}

// putLate puts the late spans between those that are stored by now, and writes what that changes. Hardly
// ever there are any: the ordinary path costs nothing for them.
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

// putLateOf puts the late spans of an object between those that are stored. Those of an object that has
// changed meanwhile wait for the next time.
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
	if !ok { // another process has stored more of it, and what is held is received again
		return nil
	}
	r.pending.add(ledger.Receipt{Writes: writes})
	return nil
}
