package publish

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// TestRecordText: a record is written as the YAML library writes it, whatever the names of
// folders and environments are.
func TestRecordText(t *testing.T) {
	names := []string{
		"a", "pier-07", "e1", "e-1", "x0", "n", "y", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "0x1f", "1e3", "12", "2026-11-22",
		"-", "--", "-a", "a-", "a.b", "A", "Null", "~", "a b", "a: b", "a #b", "é", "", "é-a", "folders:", "from", "environment", "o", "1_000", "0b1", "a'b", `a"b`,
	}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func() string { return names[random.IntN(len(names))] }
	for range 3000 {
		var all []Written
		for range random.IntN(4) {
			w := Written{Environment: pick(), Tree: pick(), From: []Input{{Layer: pick(), Repo: pick(), Folder: "/tmp/a\n    folders:\n      - " + pick() + "\nb"}}}
			tame := random.IntN(2) == 0
			for range random.IntN(5) {
				name := pick()
				if tame {
					name = names[random.IntN(5)]
				}
				w.Folders = append(w.Folders, name)
			}
			all = append(all, w)
		}
		r := NewRecord(all...)
		want, err := yamldoc.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Text("ours")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("# ours\n"+string(want), string(got)); diff != "" {
			t.Fatalf("(-library +ours)\n%s", diff)
		}
		read, err := ReadRecord(got)
		if err != nil {
			t.Fatal(err)
		}
		same := slices.EqualFunc(read.Environments, all, func(a, b Written) bool { return slices.Equal(a.Folders, b.Folders) })
		if !same {
			t.Fatalf("the folders are %v, want %v", read.Environments, all)
		}
	}
}
