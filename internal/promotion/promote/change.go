package promote

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// OutputChange is a change of an environment's output.
type OutputChange struct {
	Environment, Folder string
	PreviousCommit      string // the commit of the output branch that brought what is there; "" for nothing
	Before, After       string // what the environment has there, and what is proposed
	// Exceeds reports that the change exceeds the environment's limits.
	Exceeds bool
}

const changeIDLength = 40

// ID returns the name of the change. Another proposal has another name, and so has the same
// proposal after the branch was changed and changed back: an acknowledgement counts once.
func (c OutputChange) ID() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{"change", c.Environment, c.Folder, c.PreviousCommit, c.Before, c.After}, "\x00")))
	return hex.EncodeToString(sum[:])[:changeIDLength]
}

// MayMerge reports whether the change may be merged without a person, given the names of the
// acknowledged changes.
func (c OutputChange) MayMerge(acknowledged ...string) bool {
	return !c.Exceeds || slices.Contains(acknowledged, c.ID())
}
