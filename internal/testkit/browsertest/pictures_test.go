package browsertest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

var update = flag.Bool("update", false, "rewrite the pictures of pages")

// pictured are the pages of which there are pictures, by the names of their files.
var pictured = map[string]string{
	"overview": "/", "environment": "/environments/prod", "problem": "/environments/stage", "commits": "/commits", "commit": "/commits/" + newest, "problems": "/problems",
	"fleet": "/fleet", "workload": "/workloads/checkout", "past": "/assignments/prod/small/checkout?at=2026-11-20", "frozen": "/environments/prod", "history": "/history", "styleguide": "/styleguide",
}

// freezeProd has a freeze keep the newest commit out of prod, whose output is verified.
func freezeProd(s *status.Store) {
	setFleet(s)
	chain := s.Snapshot().Chain
	for i := range chain.Stages {
		if stage := &chain.Stages[i]; stage.Environment == "prod" {
			wait := gate.Verdict{Gate: "freeze", Kind: gate.KindFreeze, Status: gate.Wait, Reason: "freeze sale: the sale, until Mon 2026-11-30 09:00 UTC", NamesTime: true, ValidUntil: noon.Add(7*24*time.Hour - 3*time.Hour)}
			stage.Frozen, stage.Next.Verdict = wait.Reason, gate.Verdict{Gate: "prod", Status: gate.Wait, Reason: wait.Reason, Parts: []gate.Verdict{wait}}
		}
	}
	s.SetPromotions(chain)
}

const pictures = "testdata/pictures"

// findMaker returns what the look of a page depends on besides the page: the browser's major version, and the
// fonts that there are.
func findMaker(t *testing.T) string {
	t.Helper()
	out, err := exec.Command(browserProgram(), "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	major := regexp.MustCompile(`\d+`).FindString(string(out))
	var fonts []string
	for _, dir := range []string{"/usr/share/fonts", "/usr/local/share/fonts"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && slices.Contains([]string{".ttf", ".otf", ".ttc", ".pfb"}, filepath.Ext(path)) {
				fonts = append(fonts, filepath.Base(path))
			}
			return nil // a folder that there is not has no fonts
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(fonts)
	sum := sha256.Sum256([]byte(strings.Join(fonts, "\n")))
	return fmt.Sprintf("chromium %s, %d fonts %s\n", major, len(fonts), hex.EncodeToString(sum[:6]))
}

// TestPictures compares what pages look like with pictures of them, at two widths in two themes, without script,
// so that times are as the server writes them. Where another browser or other fonts than those of the pictures
// make them, they are compared by blocks.
func TestPictures(t *testing.T) {
	browser, root, frozen := Start(t), openFleet(t), openFleet(t, freezeProd)
	maker := findMaker(t)
	made, err := os.ReadFile(filepath.Join(pictures, "made-with.txt"))
	if err != nil && !*update {
		t.Fatal(err)
	}
	same := string(made) == maker
	if !same {
		t.Logf("these pictures were made with %s, and here is %s: they are compared by blocks", strings.TrimSpace(string(made)), maker)
	}
	for _, v := range []View{{1280, false, false}, {1280, true, false}, {400, false, false}, {400, true, false}} {
		theme := map[bool]string{false: "light", true: "dark"}[v.Dark]
		w := browser.Open(t, v)
		for name, path := range pictured {
			if name == "frozen" {
				w.Visit(frozen + path)
			} else {
				w.Visit(root + path)
			}
			file := fmt.Sprintf("%s-%d-%s.png", name, v.Width, theme)
			checkPicture(t, w.shoot(), file, same)
		}
	}
	if *update {
		if err := os.WriteFile(filepath.Join(pictures, "made-with.txt"), []byte(maker), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// checkPicture compares a picture with the one of a file, or writes the file with -update. The folder that
// FAIRLEAD_PICTURES names gets those that differ.
func checkPicture(t *testing.T, data []byte, file string, same bool) {
	t.Helper()
	got, err := shrinkPicture(data)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		small, err := encodePicture(got)
		if err == nil {
			err = os.WriteFile(filepath.Join(pictures, file), small, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(filepath.Join(pictures, file))
	if err != nil {
		t.Fatal(err)
	}
	want, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	diff := comparePictures(want, got, same)
	if diff == "" {
		return
	}
	t.Errorf("%s: %s; go test ./internal/testkit/browsertest -run TestPictures -update rewrites it, and FAIRLEAD_PICTURES=DIR keeps what differs", file, diff)
	if dir := os.Getenv("FAIRLEAD_PICTURES"); dir != "" {
		small, err := encodePicture(got)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), small, 0o644)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// TestComparePictures: a few points may differ, a line of text may not; with other fonts texts may be elsewhere,
// and a page without its style, or in the other theme, is still found.
func TestComparePictures(t *testing.T) {
	paint := func(ground color.Color, lines ...int) image.Image {
		p := image.NewNRGBA(image.Rect(0, 0, 640, 480))
		draw.Draw(p, p.Rect, image.NewUniform(ground), image.Point{}, draw.Src)
		for _, y := range lines {
			for x := 20; x < 300; x += 2 {
				for dy := range 8 {
					p.Set(x, y+dy, color.Black)
				}
			}
		}
		return p
	}
	light, dark := color.NRGBA{246, 247, 249, 255}, color.NRGBA{18, 22, 28, 255}
	page := paint(light, 40, 80, 120, 160)
	speck := paint(light, 40, 80, 120, 160).(*image.NRGBA)
	speck.Set(600, 400, color.Black)
	for _, c := range []struct {
		name          string
		got           image.Image
		exact, coarse bool // whether they are the same
	}{
		{"itself", page, true, true},
		{"a point", speck, true, true},
		{"a line more", paint(light, 40, 80, 120, 160, 200, 240, 280), false, true},
		{"lines that are elsewhere", paint(light, 43, 85, 128, 171), false, true},
		{"the other theme", paint(dark, 40, 80, 120, 160), false, false},
		{"half as long", page.(*image.NRGBA).SubImage(image.Rect(0, 0, 640, 240)), false, false},
	} {
		if diff := comparePictures(page, c.got, true); (diff == "") != c.exact {
			t.Errorf("%s: with the same fonts %q", c.name, diff)
		}
		if diff := comparePictures(page, c.got, false); (diff == "") != c.coarse {
			t.Errorf("%s: with other fonts %q", c.name, diff)
		}
	}
}
