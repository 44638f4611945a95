package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// TestLanes has what can be written as spec.lanes, and what is a problem: as many as are wanted, each on a line of its own.
func TestLanes(t *testing.T) {
	var many strings.Builder
	for i := range maxLanes + 1 {
		fmt.Fprintf(&many, "{name: l%d, paths: [w/%d]}, ", i, i)
	}
	for _, c := range []struct {
		lanes    string
		problems int
	}{
		{"{each: workloads/*}", 0},
		{"{each: teams/all/*}", 0},
		{"{named: [{name: a, paths: [w/a*, w/b/**]}, {name: b, paths: [w/c.yaml]}]}", 0},
		{"{}", 1},
		{"{each: workloads/*, named: [{name: a, paths: [w/a]}]}", 1},
		{"{each: workloads}", 1},
		{"{each: '*'}", 1},
		{"{each: /workloads/*}", 1},
		{"{each: work*/*}", 1},
		{"{each: ../*}", 1},
		{"{each: .environments/*}", 1},
		{"{named: [{name: a, paths: [w/a]}, {name: a, paths: [w/b]}]}", 1},
		{"{named: [{name: platform, paths: [w/a]}]}", 1},
		{"{named: [{name: a/b, paths: [w/a]}]}", 1},
		{"{named: [{name: a, paths: []}]}", 1},
		{"{named: [{name: a, paths: ['*/x', '**', 'a/**/b', 'w/[', w//a, ./a, .fairlead/a]}]}", 7},
		{"{named: [" + many.String() + "]}", 1},
	} {
		files, err := tree.FromFiles(map[string][]byte{"p.yaml": []byte("apiVersion: fairlead.io/v1alpha1\nkind: Promotion\nmetadata: {name: fleet}\nspec: {lanes: " + c.lanes + "}\n")})
		if err != nil {
			t.Fatal(err)
		}
		read := NewParser().Progress("", Layer{Kind: Base, Name: "promotion", Files: files})
		stops, warnings := read.Problems.Count()
		if stops != c.problems || warnings > 0 || (stops == 0) != (read.Promotions[0].Lanes != nil) {
			t.Errorf("%.100s: %v, want %d problems", c.lanes, read.Problems, c.problems)
		}
	}
}
