package wanted

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// TestFindReconciler: a change of the objects that a reconciler.yaml applies from the folder beside it is
// a change of what is wanted, and one of another file is none.
func TestFindReconciler(t *testing.T) {
	digest := func(files map[string]string) string {
		data := map[string][]byte{}
		for name, text := range files {
			data[name] = []byte(text)
		}
		all, err := tree.FromFiles(data)
		if err != nil {
			t.Fatal(err)
		}
		_, found := findReconciler(all)
		return found
	}
	plain := digest(map[string]string{"reconciler.yaml": "a"})
	if plain != tree.HashBlob([]byte("a")).String() || plain != digest(map[string]string{"reconciler.yaml": "a", "namespace.yaml": "b"}) {
		t.Error("the digest is not that of the file alone")
	}
	ordered := digest(map[string]string{"reconciler.yaml": "a", "objects/reconciler.yaml": "b"})
	if ordered == plain || ordered == digest(map[string]string{"reconciler.yaml": "a", "objects/reconciler.yaml": "c"}) {
		t.Error("the objects are not in the digest")
	}
	if got := digest(map[string]string{"objects/reconciler.yaml": "b"}); got != "" {
		t.Errorf("without a reconciler.yaml it is %q", got)
	}
}
