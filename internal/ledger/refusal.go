package ledger

import "time"

// RefusalReason is why a contact or report did not count.
type RefusalReason string

// The reasons for a refusal.
const (
	RefusedKey       RefusalReason = "unauthorized"
	RefusedReplay    RefusalReason = "replayed"
	RefusedContested RefusalReason = "contested"
	RefusedRenamed   RefusalReason = "renamed"
	RefusedUnproven  RefusalReason = "unproven"
	RefusedSecond    RefusalReason = "second-name"
	RefusedObjects   RefusalReason = "objects" // no room for new objects
)

// RefusalReasons lists all reasons.
var RefusalReasons = []RefusalReason{RefusedKey, RefusedReplay, RefusedContested, RefusedRenamed, RefusedUnproven, RefusedSecond, RefusedObjects}

var admissionRefusals = map[Admission]RefusalReason{
	Replayed: RefusedReplay, Contested: RefusedContested, Renamed: RefusedRenamed, Unproven: RefusedUnproven, SecondName: RefusedSecond,
}

// Refusal returns why the contact or a report did not count, or "".
func (r Receipt) Refusal() RefusalReason {
	if r.Refused > 0 {
		return RefusedObjects
	}
	return admissionRefusals[r.Admission]
}

// Refusals counts a cluster's refusals of one day and reason.
type Refusals struct {
	Day     Day
	Cluster string // "" for names that no cluster has
	Reason  RefusalReason
	Count   int
	Last    time.Time
}

// Day is a UTC day, numbered from 1970.
type Day int64

// DayOf returns the day of a time.
func DayOf(t time.Time) Day { return Day(t.Unix() / secondsPerDay) }

// Start returns the start of a day.
func (d Day) Start() time.Time { return time.Unix(int64(d)*secondsPerDay, 0).UTC() }

const secondsPerDay = 24 * 60 * 60
