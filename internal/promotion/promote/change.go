package promote

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Change is a change of an environment's output.
type Change struct {
	Environment, Folder string
	Since               string // the commit of the output branch that brought what is there; "" for nothing
	Before, After       string // what the environment has there, and what is proposed
	// Exceeds says that it exceeds the environment's limits.
	Exceeds bool
}

// changeDigits is how long the name of a change is.
const changeDigits = 40

// ID names the change. Another proposal has another name, and so has the same one once
// what is there has changed and is as it was: what a person acknowledged once is not
// acknowledged for good.
func (c Change) ID() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{"change", c.Environment, c.Folder, c.Since, c.Before, c.After}, "\x00")))
	return hex.EncodeToString(sum[:])[:changeDigits]
}

// MayMerge reports whether the change may be merged without a person, who has
// acknowledged the changes of these names.
func (c Change) MayMerge(acknowledged ...string) bool {
	return !c.Exceeds || slices.Contains(acknowledged, c.ID())
}
