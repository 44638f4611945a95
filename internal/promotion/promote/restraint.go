package promote

// Restraint is a hold or a freeze of an environment's output.
type Restraint struct {
	// AllowedCommit is the commit of the base whose output may still be merged: the target of a
	// rollback, or an exception of a freeze. "" for none.
	AllowedCommit string
}

// Restrains reports whether the output of an environment has to stay as it is. promoted is the
// environment's commit of the base, and merged the commit that its output was last rendered from.
// An allowed commit passes once: later changes of the environment's branch or of a workload wait.
func (r Restraint) Restrains(promoted, merged string) bool {
	return r.AllowedCommit == "" || r.AllowedCommit != promoted || r.AllowedCommit == merged
}

// IsReverted reports whether the last change of a record took it back behind its value before.
// values are what the record named, newest first; "" means none. newer reports whether one commit
// comes after another on the base's branch.
func IsReverted(values []string, newer func(a, b string) bool) bool {
	for _, before := range values[min(1, len(values)):] {
		if now := values[0]; before != "" && before != now {
			return now == "" || newer(before, now)
		}
	}
	return false
}
