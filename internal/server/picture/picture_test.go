package picture

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestChain: the environments of a chain stand beside each other, and a branch of it below.
func TestChain(t *testing.T) {
	p := NewPicture([]Node{{"dev", nil}, {"stage", []string{"dev"}}, {"prod-eu", []string{"stage"}}, {"prod-us", []string{"stage", "dev"}}})
	want := []Box{{"dev", 12, 112, 184, 76}, {"stage", 256, 62, 184, 76}, {"prod-eu", 500, 12, 184, 76}, {"prod-us", 500, 112, 184, 76}}
	if diff := cmp.Diff(want[2:], p.Boxes[2:]); diff != "" {
		t.Errorf("boxes (-want +got):\n%s", diff)
	}
	if len(p.Arrows) != 4 || p.Boxes[0].X >= p.Boxes[1].X || p.Boxes[1].X >= p.Boxes[2].X {
		t.Errorf("the picture is %+v", p)
	}
}

// TestProperties lays out many graphs: no box overlaps another or leaves the picture, arrows go to the
// right, and the same graph has the same picture.
func TestProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		nodes := randomGraph(random, n%61)
		p := NewPicture(nodes)
		if diff := cmp.Diff(p, NewPicture(nodes)); diff != "" {
			t.Fatalf("two pictures of %v differ:\n%s", nodes, diff)
		}
		at := map[string]Box{}
		for i, a := range p.Boxes {
			at[a.Name] = a
			if a.X < 0 || a.Y < 0 || a.X+a.Width > p.Width || a.Y+a.Height > p.Height {
				t.Fatalf("%+v is outside of %d × %d", a, p.Width, p.Height)
			}
			for _, b := range p.Boxes[:i] {
				if a.X < b.X+b.Width && b.X < a.X+a.Width && a.Y < b.Y+b.Height && b.Y < a.Y+a.Height {
					t.Fatalf("%+v and %+v overlap", a, b)
				}
			}
		}
		for _, a := range p.Arrows {
			if at[a.From].X+at[a.From].Width > at[a.To].X {
				t.Fatalf("the arrow from %s to %s goes to the left", a.From, a.To)
			}
		}
	}
}

// randomGraph returns a graph in which some names are of no node, and some arrows make a circle.
func randomGraph(random *rand.Rand, size int) []Node {
	nodes := make([]Node, size)
	for i := range nodes {
		nodes[i].Name = fmt.Sprint("n", i)
		for range random.IntN(3) {
			to := random.IntN(i + 1)
			if random.IntN(20) == 0 {
				to = random.IntN(size + 2)
			}
			nodes[i].After = append(nodes[i].After, fmt.Sprint("n", to))
		}
	}
	return nodes
}
