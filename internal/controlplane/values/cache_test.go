package values

import (
	"fmt"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// TestCacheForgets: after many changes of a config, a cache has the classes of the last two
// models and no more.
func TestCacheForgets(t *testing.T) {
	var c Cache
	for n := range 50 {
		if _, problems := NewResolver(&model.Model{}, &c); len(problems) > 0 {
			t.Fatal(problems)
		}
		for i := range 3 {
			c.mergeRules(fmt.Sprintf("%d of model %d", i, n), nil)
		}
		if got := c.classes.Len(); got != 3 {
			t.Fatalf("model %d: %d classes are kept, want 3", n, got)
		}
		if _, ok := c.classes.Find(fmt.Sprintf("0 of model %d", n-2)); ok {
			t.Fatalf("model %d: the classes of the last model but one are kept", n)
		}
	}
}
