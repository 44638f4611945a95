package promote

// Restraint is a hold or a freeze of an environment's output.
type Restraint struct {
	// Lets is the commit of the base whose output may be merged all the same: where a
	// rollback went, or an exception of a freeze. "" for none.
	Lets string
}

// Restrains reports whether the output of an environment has to stay as it is. has is
// the commit that the environment was given, and output the one that its output was last
// made from. A commit that is let through is let through once: what comes after it on
// the environment's branch, or from a workload, waits.
func (r Restraint) Restrains(has, output string) bool {
	return r.Lets == "" || r.Lets != has || r.Lets == output
}

// WentBack reports whether who wrote a record last took it back behind what it said
// before. were are the commits that the record named, newest first; "" is a record that
// names none. newer reports whether a commit comes after another on the base's branch.
func WentBack(were []string, newer func(a, b string) bool) bool {
	for _, before := range were[min(1, len(were)):] {
		if now := were[0]; before != "" && before != now {
			return now == "" || newer(before, now)
		}
	}
	return false
}
