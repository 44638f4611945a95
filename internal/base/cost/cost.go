// Package cost adds up and compares what plans of infrastructure cost, in exact decimals.
//
// Amounts are per month. Currencies are never converted.
package cost

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// Change is the cost per month before and after plans are applied.
type Change struct {
	Currency   string `json:"currency"` // ISO 4217
	Before     string `json:"before"`
	After      string `json:"after"`
	Difference string `json:"difference"`
}

// infracost is the output of infracost --format json.
type infracost struct {
	Currency string  `json:"currency"`
	Total    *string `json:"totalMonthlyCost"`
	Past     *string `json:"pastTotalMonthlyCost"`
}

var (
	currencyCode = regexp.MustCompile(`^[A-Z]{3}$`)
	// amount bounds an amount, so that sums of all plans stay within 64 bits.
	amount = regexp.MustCompile(`^(-?)([0-9]{1,9})(?:\.([0-9]{1,30}))?$`)
)

// micros is how finely amounts are added; more digits are cut.
const micros, microDigits = 1_000_000, 6

// Read reads the cost of a plan as Infracost prints it, or by an expression; nil for none.
func Read(body json.RawMessage, e *Expression) ([]Change, error) {
	if len(body) == 0 || string(body) == "null" {
		return nil, nil
	}
	if e != nil {
		return e.read(body)
	}
	var read infracost
	if err := json.Unmarshal(body, &read); err != nil {
		return nil, fmt.Errorf("it is not the output of infracost --format json: %w", err)
	}
	if read.Total == nil {
		return nil, errors.New("it has no totalMonthlyCost")
	}
	past := "0"
	if read.Past != nil {
		past = *read.Past
	}
	return parseChange(read.Currency, "pastTotalMonthlyCost", past, "totalMonthlyCost", *read.Total)
}

func parseChange(currency, beforeName, before, afterName, after string) ([]Change, error) {
	if !IsCurrency(currency) {
		return nil, fmt.Errorf("the currency cannot be %q", text.Shorten(currency, 20))
	}
	first, ok := parseAmount(before)
	if !ok {
		return nil, fmt.Errorf("%s cannot be %q", beforeName, text.Shorten(before, 50))
	}
	last, ok := parseAmount(after)
	if !ok {
		return nil, fmt.Errorf("%s cannot be %q", afterName, text.Shorten(after, 50))
	}
	return []Change{newChange(currency, first, last)}, nil
}

func newChange(currency string, before, after int64) Change {
	return Change{currency, formatAmount(before), formatAmount(after), formatAmount(after - before)}
}

func parseAmount(written string) (int64, bool) {
	parts := amount.FindStringSubmatch(written)
	if parts == nil {
		return 0, false
	}
	digits := (parts[3] + strings.Repeat("0", microDigits))[:microDigits]
	n, err := strconv.ParseInt(parts[1]+parts[2]+digits, 10, 64)
	return n, err == nil
}

func formatAmount(n int64) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	fraction := fmt.Sprintf("%06d", n%micros)
	return fmt.Sprintf("%s%d.%s%s", sign, n/micros, fraction[:2], strings.TrimRight(fraction[2:], "0"))
}

// IsCurrency reports whether code is a currency's code as ISO 4217 has them.
func IsCurrency(code string) bool { return currencyCode.MatchString(code) }

// Exceeds reports whether the difference is more than a number of units of the currency.
func (c Change) Exceeds(units int) bool {
	difference, _ := parseAmount(c.Difference)
	return difference > int64(units)*micros
}

// Span returns the costs before the first plan of a component, and after its last one.
func Span(first, last []Change) []Change {
	var all []Change
	for _, c := range last {
		if i := slices.IndexFunc(first, func(other Change) bool { return other.Currency == c.Currency }); i >= 0 {
			before, _ := parseAmount(first[i].Before) // they were parsed
			after, _ := parseAmount(c.After)
			c = newChange(c.Currency, before, after)
		}
		all = append(all, c)
	}
	return all
}

// Add adds the amounts of each currency. Currencies are not converted.
func Add(a, b []Change) []Change {
	var all []Change
	for _, c := range slices.Concat(a, b) {
		i := slices.IndexFunc(all, func(other Change) bool { return other.Currency == c.Currency })
		if i < 0 {
			all = append(all, c)
			continue
		}
		sum := [2]int64{}
		for _, part := range []Change{all[i], c} {
			before, _ := parseAmount(part.Before) // they were parsed
			after, _ := parseAmount(part.After)
			sum[0], sum[1] = sum[0]+before, sum[1]+after
		}
		all[i] = newChange(c.Currency, sum[0], sum[1])
	}
	slices.SortFunc(all, func(a, b Change) int { return cmp.Compare(a.Currency, b.Currency) })
	return all
}

// Text returns costs as "12.00 to 15.50 EUR a month (+3.50)"; "" for none.
func Text(costs []Change) string {
	var all []string
	for _, cost := range costs {
		sign := "+"
		if strings.HasPrefix(cost.Difference, "-") {
			sign = ""
		}
		all = append(all, fmt.Sprintf("%s to %s %s a month (%s%s)", cost.Before, cost.After, cost.Currency, sign, cost.Difference))
	}
	return text.Join(all, " and ")
}
