package page

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// TestBlocks: each cluster is a block until there are too many; the picture is as large as its blocks, and few paths draw it.
func TestBlocks(t *testing.T) {
	count := func(bad, good int) []answer.ClusterCount {
		return []answer.ClusterCount{{State: answer.State{Tone: answer.Bad, Word: "failed"}, Clusters: bad}, {State: answer.State{Tone: answer.Good, Word: "ready"}, Clusters: good}}
	}
	for _, test := range []struct {
		bad, good                  int
		wantWidth, wantHeight      int
		wantEach, wantBad, wantAll int
	}{
		{1, 2, 60, 20, 1, 1, 3},
		{1, 59, 640, 40, 1, 1, 60},
		{3, 97, 640, 20, 1, 3, 100},
		{12, 2988, 640, 470, 1, 12, 3000},
		{1, 7999, 640, 630, 2, 1, 4001},
	} {
		b := newBlocks(count(test.bad, test.good))
		bad := strings.Count(b.Paths[0].Path, "M")
		if b.Width != test.wantWidth || b.Height != test.wantHeight || b.Each != test.wantEach || bad != test.wantBad || bad+strings.Count(b.Paths[1].Path, "M") != test.wantAll {
			t.Errorf("%d and %d: %d × %d, %d each, %d of %d are bad", test.bad, test.good, b.Width, b.Height, b.Each, bad, bad+strings.Count(b.Paths[1].Path, "M"))
		}
		if len(b.Paths) != 2 || !strings.HasPrefix(b.Paths[0].Path, "M0 0h") {
			t.Errorf("%d and %d: %d paths, the first begins %q", test.bad, test.good, len(b.Paths), b.Paths[0].Path[:8])
		}
	}
}
