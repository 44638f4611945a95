package pack_test

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// sent returns a pack that Git makes of files that are much alike, and in which objects are
// differences from others.
func sent(t *testing.T, options ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, nil, "init", "-q", "--bare")
	for version := range 5 {
		p, id := put(t, dir, fleet(fmt.Sprint(version)), "")
		check(t, p.Keep(filepath.Join(dir, "objects", "pack"), nil))
		git(t, dir, nil, "update-ref", fmt.Sprintf("refs/heads/v%d", version), id)
	}
	git(t, dir, nil, append([]string{"pack-objects", "-q", "--all", "--window=20", filepath.Join(dir, "sent")}, options...)...)
	found, err := filepath.Glob(filepath.Join(dir, "sent-*.pack"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the packs are %v (%v)", found, err)
	}
	data, err := os.ReadFile(found[0])
	check(t, err)
	return data
}

// TestReceive compares with what Git finds in a pack.
func TestReceive(t *testing.T) {
	for name, options := range map[string][]string{
		"differences at a distance":    {"--delta-base-offset", "--no-reuse-delta"},
		"differences by id":            {"--no-reuse-delta"},
		"differences from differences": {"--delta-base-offset", "--no-reuse-delta", "--depth=200"},
		"no differences":               {"--depth=0"},
	} {
		t.Run(name, func(t *testing.T) {
			data, dir := sent(t, options...), t.TempDir()
			check(t, pack.Receive(dir, bytes.NewReader(data)))
			checkIndex(t, dir)
		})
	}
}

// checkIndex compares the index of the only pack in a folder with the one that Git makes.
func checkIndex(t *testing.T, dir string) {
	t.Helper()
	index, err := filepath.Glob(filepath.Join(dir, "*"))
	check(t, err)
	if len(index) != 2 {
		t.Fatalf("there are %v", index)
	}
	ours, err := os.ReadFile(index[0])
	check(t, err)
	git(t, dir, nil, "index-pack", "--strict", "-o", "theirs.idx", index[1])
	theirs, err := os.ReadFile(filepath.Join(dir, "theirs.idx"))
	check(t, err)
	if !bytes.Equal(ours, theirs) {
		t.Error("Git makes another index")
	}
}

// TestIndex is about packs of our own, with as many objects as the pieces hold in which
// they are remembered, and more.
func TestIndex(t *testing.T) {
	for _, objects := range []int{1, 4095, 4096, 4097, 12289} {
		t.Run(fmt.Sprint(objects), func(t *testing.T) {
			dir := t.TempDir()
			p, err := pack.Write(dir, func(w *pack.Writer) error {
				for i := range objects {
					data := []byte(fmt.Sprint(i))
					if err := w.WriteObject(pack.Blob, tree.HashBlob(data), data); err != nil {
						return err
					}
				}
				return nil
			})
			check(t, err)
			if p.Objects != objects {
				t.Errorf("it has %d objects", p.Objects)
			}
			check(t, p.Keep(dir, nil))
			checkIndex(t, dir)
		})
	}
}

// TestReceiveDamaged changes and cuts a pack: it is never taken, and leaves nothing.
func TestReceiveDamaged(t *testing.T) {
	data := sent(t, "--delta-base-offset")
	for name, damaged := range map[string][]byte{
		"nothing": nil, "a page": []byte("<html>No such page, and it is not short either.</html>"),
		"cut": data[:len(data)/2], "longer": append(bytes.Clone(data), 0),
	} {
		refused(t, name, damaged)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		damaged := bytes.Clone(data)
		at := random.IntN(len(damaged))
		damaged[at] ^= byte(1 + random.IntN(255))
		refused(t, fmt.Sprintf("another byte at %d", at), damaged)
		// Somebody who sends it like that on purpose also has the checksum right.
		sum := sha1.Sum(damaged[:len(damaged)-sha1.Size])
		copy(damaged[len(damaged)-sha1.Size:], sum[:])
		if err := pack.Receive(t.TempDir(), bytes.NewReader(damaged)); err != nil && !errors.Is(err, pack.ErrBroken) {
			t.Errorf("another byte at %d: the error is %v", at, err)
		}
	}
}

func refused(t *testing.T, name string, data []byte) {
	t.Helper()
	dir := t.TempDir()
	if err := pack.Receive(dir, bytes.NewReader(data)); !errors.Is(err, pack.ErrBroken) {
		t.Errorf("%s: the error is %v", name, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%s: there are %v (%v)", name, left, err)
	}
}
