package model_test

import (
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

func TestParseQuantity(t *testing.T) {
	for text, want := range map[string]model.Quantity{
		"0": 0, "4": 4000, "500m": 500, "1.5": 1500, "64Gi": 64 << 30 * 1000, "1e3": 1_000_000, "2E2": 200_000, "1u": 1, "1k": 1_000_000, ".5": 500, "1Ki": 1_024_000,
	} {
		if got, err := model.ParseQuantity(text); err != nil || got != want {
			t.Errorf("%s is %d, want %d (%v)", text, got, want, err)
		}
	}
	for _, text := range []string{"", "x", "-1", "4 cores", "1e", "1e99", "Gi", ".", "1.2.3", "1Zi", strings.Repeat("9", 100), "2Ei"} {
		if got, err := model.ParseQuantity(text); err == nil {
			t.Errorf("%q is %d, and should be refused", text, got)
		}
	}
}

func TestQuantityText(t *testing.T) {
	for text, want := range map[string]string{"7900m": "7900m", "16": "16", "64Gi": "64Gi", "1536Mi": "1536Mi", "0": "0", "2000m": "2", "100Ki": "100Ki"} {
		if q, err := model.ParseQuantity(text); err != nil || q.String() != want {
			t.Errorf("%s is shown as %s, want %s (%v)", text, q, want, err)
		}
	}
	if sum := model.Quantity(math.MaxInt64 - 1).Plus(2); sum != math.MaxInt64 {
		t.Errorf("a sum that is too large is %d", sum)
	}
}

// FuzzQuantity compares amounts with those of Kubernetes.
func FuzzQuantity(f *testing.F) {
	for _, text := range []string{"500m", "4", "64Gi", "1e3", "1.5E-2", "100n", "+3", "1.0000001", "12Ti"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := model.ParseQuantity(text)
		if err != nil {
			return
		}
		want, err := resource.ParseQuantity(text)
		if err != nil {
			t.Fatalf("%q is %d, and Kubernetes refuses it: %v", text, got, err)
		}
		if limit := resource.MustParse("1P"); want.Cmp(limit) < 0 && want.MilliValue() != int64(got) {
			t.Fatalf("%q is %d, and %d in Kubernetes", text, got, want.MilliValue())
		}
	})
}
