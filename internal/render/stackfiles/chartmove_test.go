package stackfiles_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// TestChartMoves: a chart that goes to another cluster stays where it is, too, which is said once.
func TestChartMoves(t *testing.T) {
	text := stackText("checkout", "", ", outputs: [{name: kubeconfig}]") +
		"    - {name: web, type: helm, dependsOn: [eks], source: {repo: \"https://example.com/charts\", chart: web}}\n"
	with := func(charts string) map[string]string {
		return map[string]string{"a.yaml": text, "settings.yaml": settingsText + charts}
	}
	const moved, says = "  charts: {kubeconfig: {output: eks.kubeconfig}}\n", "the chart of the component web is installed on another cluster"
	here, _, problems := keepTexts(t, with(""), tree.Tree{})
	if problems.Stops() || strings.Contains(fmt.Sprint(problems), says) {
		t.Fatal(problems)
	}
	there, _, problems := keepTexts(t, with(moved), here)
	if problems.Stops() || !strings.Contains(fmt.Sprint(problems), says) {
		t.Errorf("moved: %v", problems)
	}
	if _, _, problems := keepTexts(t, with(moved), there); strings.Contains(fmt.Sprint(problems), says) {
		t.Errorf("as it was: %v", problems)
	}
	if _, _, problems := keepTexts(t, with(""), there); !strings.Contains(fmt.Sprint(problems), says) {
		t.Errorf("moved back: %v", problems)
	}
}
