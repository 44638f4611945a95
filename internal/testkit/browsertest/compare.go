package browsertest

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
)

// How much of two pictures may differ: of those that the same browser makes with the same fonts, a part of the
// points; of others, which have their texts elsewhere, a part of the blocks, as light as they are on average.
const (
	maxPointsDiffer = 0.005
	pointTolerance  = 16
	maxBlocksDiffer = 0.25
	blockSize       = 16
	blockTolerance  = 32
	maxHeightDiffer = 0.3
)

// shrinkPicture returns a picture at half its size, with few colors, so that it takes little room.
func shrinkPicture(data []byte) (image.Image, error) {
	full, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	b := full.Bounds()
	small := image.NewNRGBA(image.Rect(0, 0, b.Dx()/2, b.Dy()/2))
	for y := range small.Rect.Dy() {
		for x := range small.Rect.Dx() {
			var sum [3]uint32
			for _, at := range []image.Point{{2 * x, 2 * y}, {2*x + 1, 2 * y}, {2 * x, 2*y + 1}, {2*x + 1, 2*y + 1}} {
				r, g, b, _ := full.At(b.Min.X+at.X, b.Min.Y+at.Y).RGBA()
				sum[0], sum[1], sum[2] = sum[0]+r>>8, sum[1]+g>>8, sum[2]+b>>8
			}
			small.SetNRGBA(x, y, color.NRGBA{roundLevel(sum[0] / 4), roundLevel(sum[1] / 4), roundLevel(sum[2] / 4), 255})
		}
	}
	return small, nil
}

func roundLevel(v uint32) uint8 { return uint8(v>>3<<3 | v>>5) }

// encodePicture returns a picture as PNG, with a palette if its colors fit into one.
func encodePicture(p image.Image) ([]byte, error) {
	b := p.Bounds()
	var palette color.Palette
	known := map[color.Color]uint8{}
	for y := b.Min.Y; y < b.Max.Y && len(palette) <= 256; y++ {
		for x := b.Min.X; x < b.Max.X && len(palette) <= 256; x++ {
			c := p.At(x, y)
			if _, is := known[c]; !is {
				known[c] = uint8(len(palette))
				palette = append(palette, c)
			}
		}
	}
	if len(palette) <= 256 {
		paletted := image.NewPaletted(b, palette)
		for y := b.Min.Y; y < b.Max.Y; y++ {
			for x := b.Min.X; x < b.Max.X; x++ {
				paletted.SetColorIndex(x, y, known[p.At(x, y)])
			}
		}
		p = paletted
	}
	var buffer bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err := encoder.Encode(&buffer, p)
	return buffer.Bytes(), err
}

// comparePictures returns what differs between two pictures of a page; "" if that is no more than may. same says
// that one browser with the same fonts has made both.
func comparePictures(want, got image.Image, same bool) string {
	if !same {
		return compareBlocks(want, got)
	}
	a, b := want.Bounds().Size(), got.Bounds().Size()
	if a != b {
		return fmt.Sprintf("the page has the size %v, and had %v", b, a)
	}
	differ := 0
	for y := range a.Y {
		for x := range a.X {
			if colorDistance(want.At(x, y), got.At(x, y)) > pointTolerance {
				differ++
			}
		}
	}
	if part := float64(differ) / float64(a.X*a.Y); part > maxPointsDiffer {
		return fmt.Sprintf("%.1f %% of the points differ", 100*part)
	}
	return ""
}

// colorDistance returns the greatest difference of two colors in one channel.
func colorDistance(a, b color.Color) int {
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	apart := func(x, y uint32) int { return max(int(x>>8)-int(y>>8), int(y>>8)-int(x>>8)) }
	return max(apart(ar, br), apart(ag, bg), apart(ab, bb))
}

// compareBlocks compares pictures of browsers that have other fonts.
func compareBlocks(want, got image.Image) string {
	a, b := want.Bounds().Size(), got.Bounds().Size()
	if a.X != b.X || float64(max(a.Y, b.Y)-min(a.Y, b.Y)) > maxHeightDiffer*float64(a.Y) {
		return fmt.Sprintf("the page has the size %v, and had %v", b, a)
	}
	differ, all := 0, 0
	for y := 0; y+blockSize <= min(a.Y, b.Y); y += blockSize {
		for x := 0; x+blockSize <= a.X; x += blockSize {
			all++
			before, now := meanColor(want, x, y), meanColor(got, x, y)
			for i := range before {
				if max(before[i]-now[i], now[i]-before[i]) > blockTolerance {
					differ++
					break
				}
			}
		}
	}
	if part := float64(differ) / float64(max(1, all)); part > maxBlocksDiffer {
		return fmt.Sprintf("%.0f %% of the blocks differ", 100*part)
	}
	return ""
}

func meanColor(p image.Image, x, y int) []int {
	sum := make([]int, 3)
	for dy := range blockSize {
		for dx := range blockSize {
			r, g, b, _ := p.At(x+dx, y+dy).RGBA()
			for i, v := range []uint32{r, g, b} {
				sum[i] += int(v >> 8)
			}
		}
	}
	for i := range sum {
		sum[i] /= blockSize * blockSize
	}
	return sum
}
