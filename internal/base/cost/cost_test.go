package cost

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	for _, test := range []struct {
		body string
		want string // a cost as "before after difference currency", or the end of an error
		ok   bool
	}{
		{``, "", true},
		{`null`, "", true},
		{`{"currency":"EUR","totalMonthlyCost":"110.5","pastTotalMonthlyCost":"10"}`, "10.00 110.50 100.50 EUR", true},
		{`{"version":"0.2","currency":"USD","projects":[{"name":"x"}],"totalMonthlyCost":"0.1234567","pastTotalMonthlyCost":null}`, "0.00 0.123456 0.123456 USD", true},
		{`{"currency":"USD","totalMonthlyCost":"0.1","pastTotalMonthlyCost":"0.3"}`, "0.30 0.10 -0.20 USD", true},
		{`{"currency":"USD","totalMonthlyCost":"-0.05","pastTotalMonthlyCost":"0"}`, "0.00 -0.05 -0.05 USD", true},
		{`[]`, "infracost --format json", false},
		{`{"currency":"USD","totalMonthlyCost":12}`, "infracost --format json", false},
		{`{"currency":"USD","totalMonthlyCost":null}`, "no totalMonthlyCost", false},
		{`{"currency":"<b>","totalMonthlyCost":"1"}`, "currency", false},
		{`{"currency":"USD","totalMonthlyCost":"1e9"}`, "totalMonthlyCost", false},
		{`{"currency":"USD","totalMonthlyCost":"NaN"}`, "totalMonthlyCost", false},
		{`{"currency":"USD","totalMonthlyCost":"1234567890"}`, "totalMonthlyCost", false},
		{`{"currency":"USD","totalMonthlyCost":"1","pastTotalMonthlyCost":"1.` + strings.Repeat("0", 31) + `"}`, "pastTotalMonthlyCost", false},
	} {
		got, err := Read([]byte(test.body), nil)
		shown := ""
		for _, c := range got {
			shown += fmt.Sprintf("%s %s %s %s", c.Before, c.After, c.Difference, c.Currency)
		}
		switch {
		case test.ok && (err != nil || shown != test.want):
			t.Errorf("%s: %q (%v), want %q", test.body, shown, err, test.want)
		case !test.ok && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: the error %v, want one of %s", test.body, err, test.want)
		}
	}
}

// TestAdd: amounts of one currency are added exactly, and others are kept apart.
func TestAdd(t *testing.T) {
	var sum []Change
	for range 10 {
		sum = Add(sum, []Change{newChange("USD", 100_000, 300_000)}) // 0.1 in binary is not exact
	}
	sum = Add(sum, []Change{newChange("EUR", 12_000_000, 2_500_000)})
	want := []Change{{"EUR", "12.00", "2.50", "-9.50"}, {"USD", "1.00", "3.00", "2.00"}}
	if diff := cmp.Diff(want, sum); diff != "" {
		t.Errorf("the sum (-want +got):\n%s", diff)
	}
	if got, want := Text(sum), "12.00 to 2.50 EUR a month (-9.50) and 1.00 to 3.00 USD a month (+2.00)"; got != want {
		t.Errorf("the text %q, want %q", got, want)
	}
	if got := Text(nil); got != "" {
		t.Errorf("the text %q of no cost", got)
	}
}

// TestSpan: what several plans of a component cost one after the other is what the first one changes, and what
// the last one leads to.
func TestSpan(t *testing.T) {
	first := []Change{newChange("EUR", 10_000_000, 60_000_000), newChange("USD", 1_000_000, 2_000_000)}
	last := []Change{newChange("EUR", 60_000_000, 80_000_000), newChange("CHF", 5_000_000, 7_000_000)}
	want := []Change{{"EUR", "10.00", "80.00", "70.00"}, {"CHF", "5.00", "7.00", "2.00"}}
	if diff := cmp.Diff(want, Span(first, last)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestExpression: an expression reads the costs of any JSON, within the bounds of amounts.
func TestExpression(t *testing.T) {
	const nested = `{"currency": "USD", "before": cost.attributes["prior-monthly-cost"], "after": cost.attributes["proposed-monthly-cost"]}`
	for _, test := range []struct {
		text, body string
		want       string // as in TestRead
		ok         bool
	}{
		{nested, `{"attributes":{"prior-monthly-cost":"10.5","proposed-monthly-cost":"12"}}`, "10.50 12.00 1.50 USD", true},
		{`{"currency": cost.unit, "after": cost.items.map(i, i.price)[1]}`, `{"unit":"EUR","items":[{"price":1},{"price":0.3}]}`, "0.00 0.30 0.30 EUR", true},
		{`{"currency": "EUR", "after": 1, "before": 2u}`, `1`, "2.00 1.00 -1.00 EUR", true},
		{`cost.already`, `{"already":{"currency":"EUR","after":"3"}}`, "0.00 3.00 3.00 EUR", true},
		{nested, `null`, "", true},
		{nested, `{}`, "no such key: attributes", false},
		{`cost.x`, `{"x":5}`, "evaluated to double, not to a mapping", false},
		{`{"currency": "EUR"}`, `1`, `after cannot be ""`, false},
		{`{"currency": "EUR", "after": 1.0/0.0}`, `1`, `after cannot be "+Inf"`, false},
		{`{"currency": "EUR", "after": 1e9}`, `1`, `after cannot be "1000000000.000000"`, false},
		{`{"currency": "EUR", "after": [1]}`, `1`, "after cannot be", false},
		{`{"currency": "e", "after": 1}`, `1`, `the currency cannot be "e"`, false},
		{`cost.all(a, cost.all(b, cost.all(c, a+b+c >= 0.0))) ? {"currency": "EUR"} : {}`, "[" + strings.Repeat("1,", 300) + "1]", "cost limit exceeded", false},
	} {
		e, err := CompileExpression(test.text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read([]byte(test.body), e)
		shown := ""
		for _, c := range got {
			shown += fmt.Sprintf("%s %s %s %s", c.Before, c.After, c.Difference, c.Currency)
		}
		if test.ok && (err != nil || shown != test.want) || !test.ok && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s of %.40s: %q (%v), want %q", test.text, test.body, shown, err, test.want)
		}
	}
	for _, text := range []string{"", "cost.", "price", "1 + 1", `"EUR"`, strings.Repeat("cost.", 1000) + "x"} {
		if _, err := CompileExpression(text); err == nil {
			t.Errorf("%.40q is compiled", text)
		}
	}
}
