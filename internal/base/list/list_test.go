package list_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/list"
)

func TestConvert(t *testing.T) {
	if got := list.Convert([]int{3, 1, 2}, strconv.Itoa); !slices.Equal(got, []string{"3", "1", "2"}) {
		t.Errorf("the numbers are converted to %q", got)
	}
	if got := list.Convert(nil, strconv.Itoa); got != nil {
		t.Errorf("an empty list is converted to %#v, want nil", got)
	}
}

func TestAddMissing(t *testing.T) {
	if got := list.AddMissing([]int{1, 2}, 2, 3, 3); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("the list is %v", got)
	}
}

func TestCompareBools(t *testing.T) {
	all := []bool{false, true, false, true}
	slices.SortFunc(all, list.CompareBools)
	if !slices.Equal(all, []bool{true, true, false, false}) {
		t.Errorf("the order is %v", all)
	}
}
