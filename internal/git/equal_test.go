package git_test

import (
	"strings"
	"testing"
)

// TestLoadEqualFiles: large files with the same content have it once in memory, and a name that is not
// wanted for its size has none.
func TestLoadEqualFiles(t *testing.T) {
	dir, _, _ := example(t)
	text := strings.Repeat("a large file\n", 50_000)
	for _, name := range []string{"large-a", "large-b", "large-c"} {
		write(t, dir, name, text)
	}
	head := commit(t, dir, "equal files")
	got, err := open(t, dir).ReadFiles(head, func(file string, size int64) bool { return file != "large-b" || size == 0 })
	if err != nil {
		t.Fatal(err)
	}
	a, _ := got.Lookup("large-a")
	b, _ := got.Lookup("large-b")
	c, _ := got.Lookup("large-c")
	if string(a.Data) != text || string(c.Data) != text || &a.Data[0] != &c.Data[0] {
		t.Error("the files do not have one content")
	}
	if b.Data != nil {
		t.Error("a file that is too large is read, because another one has its content")
	}
}
