package publish_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

// TestLocationsOverlap: one folder, or one in the other; but others may be below the root, where an
// environment owns only what its record names.
func TestLocationsOverlap(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b publish.Location
		want bool
	}{
		{"", "", false},
		{"out dev ", "", false},
		{"out dev ", "out dev ", true},
		{"out dev ", "out dev a", false},
		{"out dev a", "out dev a", true},
		{"out dev a", "out dev a/b", true},
		{"out dev a", "out dev ab", false},
		{"out dev a", "out dev b", false},
		{"out dev a", "out main a", false},
		{"out dev a", "other dev a", false},
	} {
		if test.a.Overlaps(test.b) != test.want || test.b.Overlaps(test.a) != test.want {
			t.Errorf("%q and %q overlap: %v", test.a, test.b, !test.want)
		}
	}
}
