package model

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Quantity is an amount of a resource, in thousandths.
type Quantity int64

// Amounts of a resource are bounded, so that thousands of them can be added.
const (
	maxQuantity  = Quantity(1_000_000_000_000_000_000)
	maxQuantityN = 64 // characters
)

var errQuantity = errors.New("it is not an amount: write it as 500m, 4, 64Gi or 1e3")

// quantityUnits are the suffixes of Kubernetes' quantities, as powers of 10 and of 2.
var quantityUnits = map[string][2]int{
	"n": {-9, 0}, "u": {-6, 0}, "m": {-3, 0}, "": {0, 0}, "k": {3, 0}, "M": {6, 0}, "G": {9, 0}, "T": {12, 0}, "P": {15, 0}, "E": {18, 0},
	"Ki": {0, 10}, "Mi": {0, 20}, "Gi": {0, 30}, "Ti": {0, 40}, "Pi": {0, 50}, "Ei": {0, 60},
}

// ParseQuantity parses an amount as Kubernetes writes it. Less than a thousandth is rounded up.
func ParseQuantity(text string) (Quantity, error) {
	end := strings.LastIndexAny(text, "0123456789.") + 1
	number, suffix := text[:end], text[end:]
	if i := strings.IndexAny(number, "eE"); i > 0 { // 1e3
		exponent, err := strconv.Atoi(number[i+1:])
		if err != nil || suffix != "" || exponent < -18 || exponent > 18 {
			return 0, errQuantity
		}
		return scaleQuantity(number[:i], [2]int{exponent, 0})
	}
	unit, known := quantityUnits[suffix]
	if !known {
		return 0, errQuantity
	}
	return scaleQuantity(number, unit)
}

func scaleQuantity(number string, unit [2]int) (Quantity, error) {
	digits := strings.TrimPrefix(number, "+")
	if len(digits) > maxQuantityN || strings.Trim(digits, "0123456789.") != "" || strings.Count(digits, ".") > 1 || strings.Trim(digits, ".") == "" {
		return 0, errQuantity
	}
	value, ok := new(big.Rat).SetString(strings.TrimSuffix(digits, "."))
	if !ok {
		return 0, errQuantity
	}
	exponent := unit[0] + 3
	power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent, -exponent))), nil))
	if exponent < 0 {
		power.Inv(power)
	}
	value.Mul(value, power)
	value.Mul(value, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(unit[1]))))
	whole, rest := new(big.Int).QuoRem(value.Num(), value.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	if !whole.IsInt64() || Quantity(whole.Int64()) > maxQuantity {
		return 0, errors.New("it is too large")
	}
	return Quantity(whole.Int64()), nil
}

// Plus returns the sum; of sums that no number holds, the largest number.
func (q Quantity) Plus(o Quantity) Quantity {
	if q > math.MaxInt64-o {
		return math.MaxInt64
	}
	return q + o
}

// String returns the amount as people write it: "7900m", "16", "64Gi".
func (q Quantity) String() string {
	if q%1000 != 0 {
		return strconv.FormatInt(int64(q), 10) + "m"
	}
	whole := int64(q / 1000)
	for _, unit := range []string{"Ei", "Pi", "Ti", "Gi", "Mi", "Ki"} {
		if size := int64(1) << quantityUnits[unit][1]; whole != 0 && whole%size == 0 {
			return strconv.FormatInt(whole/size, 10) + unit
		}
	}
	return strconv.FormatInt(whole, 10)
}
