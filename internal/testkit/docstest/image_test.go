package docstest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"testing"
)

// maxImageSize bounds an image in the documentation, in bytes.
const maxImageSize = 200_000

var imageLink = regexp.MustCompile(`!\[[^\]]+\]\(([^)]+\.png)\)`)

// TestImages: each image is on a page, with words for those who do not see it, and is small.
// docs/images/take.sh takes them.
func TestImages(t *testing.T) {
	used := map[string]bool{}
	for _, p := range readPages(t) {
		for _, m := range imageLink.FindAllStringSubmatch(readFile(t, p.name), -1) {
			used[path.Join(path.Dir(p.name), m[1])] = true
		}
	}
	images, err := filepath.Glob(filepath.Join(root, "docs/images/*.png"))
	if err != nil || len(images) < 3 {
		t.Fatalf("%d images: %v", len(images), err)
	}
	for _, image := range images {
		info, err := os.Stat(image)
		if err != nil {
			t.Fatal(err)
		}
		name := path.Join("docs/images", filepath.Base(image))
		if !used[name] {
			t.Errorf("no page shows %s", name)
		}
		if info.Size() > maxImageSize {
			t.Errorf("%s has %d bytes, more than %d", name, info.Size(), maxImageSize)
		}
	}
}
