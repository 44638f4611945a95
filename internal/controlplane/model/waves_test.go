package model

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// TestShare: a part is rounded down, and an absent share has no limit.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		share  Share
		n, all int
		want   bool
	}{{Share{}, 9, 9, false}, {Share{IsLimit: true}, 1, 9, true}, {Share{IsLimit: true, Count: 2}, 2, 9, false}, {Share{IsLimit: true, Percent: 25}, 2, 9, false}, {Share{IsLimit: true, Percent: 25}, 3, 9, true}} {
		if got := c.share.IsExceeded(c.n, c.all); got != c.want {
			t.Errorf("%+v is exceeded by %d of %d: %v", c.share, c.n, c.all, got)
		}
	}
}

// TestWaves has what can be written as waves of an environment, and how many problems it has.
func TestWaves(t *testing.T) {
	for _, c := range []struct {
		waves    string
		problems int
	}{
		{"[{name: a, clusterTypes: {matchLabels: {ring: a}}, proof: [rollout, {soak: 1h}]}, {name: b, pick: {percent: 10, by: region}}]", 0},
		{"[{name: a, pick: {count: 1}}, {name: b, clusterTypes: {matchExpressions: [{key: ring, operator: Exists}]}}]", 0},
		{"[{name: a}]", 1},
		{"[{name: a, pick: {count: 1}, clusterTypes: {matchLabels: {ring: a}}}]", 1},
		{"[{name: rest, pick: {count: 1}}]", 1},
		{"[{name: a, pick: {count: 1}}, {name: a, pick: {count: 2}}]", 1},
		{"[{name: 'a b', pick: {count: 1}}]", 1},
		{"[{name: a, pick: {}}]", 1},
		{"[{name: a, pick: {count: 1, percent: 1}}]", 1},
		{"[{name: a, pick: {count: 0}}]", 1},
		{"[{name: a, pick: {percent: 101}}]", 1},
		{"[{name: a, pick: {percent: 1, by: 'a b'}}]", 1},
		{"[{name: a, clusterTypes: {}}]", 1},
		{"[{name: a, clusters: {}, pick: {percent: 1}}, {name: b, clusters: {matchLabels: {tier: a}}}]", 0},
		{"[{name: a, clusters: {}, clusterTypes: {matchLabels: {ring: a}}}]", 1},
		{"[{name: a, clusters: {matchExpressions: [{key: ring, operator: Has}]}}]", 1},
		{"[{name: a, clusters: {group: canary}}]", 1},
		{"[{name: a, clusterTypes: {group: canary}}]", 0},
		{"[{name: a, clusterTypes: {group: 'a b'}}]", 1},
		{"[{name: a, clusterTypes: {matchExpressions: [{key: ring, operator: Has}]}}]", 1},
		{"[{name: a, pick: {count: 1}, merge: direct, batch: 2, gates: [{window: {}}], budget: {clusterTypes: 1, clusters: 5%}}], advance: {onChange: restart, from: 3, away: 24h, budget: {clusters: 7}}", 0},
		{"[{name: a, pick: {count: 1}, merge: maybe}]", 1},
		{"[{name: a, pick: {count: 1}, batch: 0}]", 1},
		{"[{name: a, pick: {count: 1}, budget: {}}]", 1},
		{"[{name: a, pick: {count: 1}, budget: {clusters: 101%}}]", 1},
		{"[{name: a, pick: {count: 1}, budget: {clusters: -1, clusterTypes: many}}]", 2},
		{"[{name: a, pick: {count: 1}, order: name}]", 1},
		{"[{name: a, pick: {count: 1, order: name}}, {name: b, pick: {count: 1, order: {label: n}}}, {name: c, pick: {count: 1, order: rotate}}]", 0},
		{"[{name: a, pick: {count: 1, order: size}}]", 1},
		{"[{name: a, pick: {count: 1, order: {}}}]", 2},
		{"[{name: a, pick: {count: 1, order: {label: 'a b'}}}]", 1},
		{"[{name: a, pick: {count: 1, order: [name]}}]", 2},
		{"[], advance: {of: [base, workloads], removals: first}", 0},
		{"[], advance: {of: []}", 1},
		{"[], advance: {of: [''], removals: never}", 2},
		{"[], advance: {of: [charts]}", 1},
		{"[], advance: {onChange: stop}", 1},
		{"[], advance: {from: -1}", 1},
		{"[], advance: {away: -1h}", 1},
	} {
		files, err := tree.FromFiles(map[string][]byte{"p.yaml": []byte("apiVersion: fairlead.io/v1alpha1\nkind: Promotion\nmetadata: {name: fleet}\nspec: {environments: [{name: prod, waves: " + c.waves + "}]}\n")})
		if err != nil {
			t.Fatal(err)
		}
		read := NewParser().Progress("", Layer{Kind: Base, Name: "promotion", Files: files})
		if stops, warnings := read.Problems.Count(); stops != c.problems || warnings > 0 {
			t.Errorf("%s: %v, want %d problems", c.waves, read.Problems, c.problems)
		}
	}
}

// TestWavesOfEphemeral: waves of an environment that is a branch for a time are a problem: no Environment names it.
func TestWavesOfEphemeral(t *testing.T) {
	files := tree.FromEntries([]tree.Entry{tree.File("p.yaml", []byte("apiVersion: fairlead.io/v1alpha1\nkind: Promotion\nmetadata: {name: fleet}\nspec: {environments: [{name: dev}, {name: pr-7, waves: [{name: a, pick: {count: 1}}]}]}\n"))})
	read := NewParser().Progress("", Layer{Kind: Base, Name: "promotion", Files: files})
	dev, lasting := &Environment{Object: Object{Name: "dev"}}, &Environment{Object: Object{Name: "pr-7"}}
	if _, problems := NewChain(read, []*Environment{dev}, nil); !problems.Stops() {
		t.Error("waves of an ephemeral environment are no problem")
	}
	if _, problems := NewChain(read, []*Environment{dev, lasting}, nil); problems.Stops() {
		t.Errorf("waves of a lasting environment: %v", problems)
	}
}
