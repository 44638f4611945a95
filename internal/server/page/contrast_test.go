package page

import (
	"fmt"
	"math"
	"regexp"
	"testing"
)

// TestContrast: every text can be read on its ground, in light and dark (WCAG 2.2, 1.4.3 and 1.4.11).
func TestContrast(t *testing.T) {
	data, _ := Asset("fairlead.css")
	for i, theme := range []string{"light", "dark"} {
		colors := map[string]string{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);`).FindAllStringSubmatch(string(data), -1) {
			colors[m[1]] = m[2+i]
		}
		for _, pair := range []struct {
			text, ground string
			least        float64
		}{
			{"ink", "ground", 7}, {"ink", "card", 7}, {"ink", "unknown-ground", 7}, {"soft", "ground", 4.5}, {"soft", "card", 4.5}, {"link", "ground", 4.5}, {"link", "card", 4.5},
			{"bad-text", "ground", 4.5}, {"bad-text", "card", 4.5}, {"soft", "stopped-ground", 4.5}, {"ink", "stopped-ground", 7},
			{"good", "good-ground", 4.5}, {"busy", "busy-ground", 4.5}, {"waiting", "waiting-ground", 4.5}, {"stopped", "stopped-ground", 4.5}, {"bad", "bad-ground", 4.5}, {"unknown", "unknown-ground", 4.5},
			{"edge", "card", 3}, {"edge", "ground", 3}, {"bad-ground", "card", 3},
		} {
			if got := contrast(t, colors[pair.text], colors[pair.ground]); got < pair.least {
				t.Errorf("%s: %s on %s has a contrast of %.1f, want %.1f", theme, pair.text, pair.ground, got, pair.least)
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, color string) float64 {
	t.Helper()
	var parts [3]int
	if _, err := fmt.Sscanf(color, "#%02x%02x%02x", &parts[0], &parts[1], &parts[2]); err != nil {
		t.Fatalf("the color %q: %v", color, err)
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		c := float64(parts[i]) / 255
		if c <= 0.04045 {
			sum += weight * c / 12.92
		} else {
			sum += weight * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return sum
}
