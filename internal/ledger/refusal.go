package ledger

import "time"

// RefusalReason is why a contact, or some of its reports, did not count.
type RefusalReason string

// The reasons.
const (
	RefusedKey       RefusalReason = "unauthorized" // the key is missing or wrong
	RefusedReplay    RefusalReason = "replayed"
	RefusedContested RefusalReason = "contested"
	RefusedRenamed   RefusalReason = "renamed"
	RefusedUnproven  RefusalReason = "unproven"
	RefusedSecond    RefusalReason = "second-name"
	RefusedObjects   RefusalReason = "objects" // there are more of them than there is room for
)

// RefusalReasons are all reasons.
var RefusalReasons = []RefusalReason{RefusedKey, RefusedReplay, RefusedContested, RefusedRenamed, RefusedUnproven, RefusedSecond, RefusedObjects}

var admissionRefusals = map[Admission]RefusalReason{
	Replayed: RefusedReplay, Contested: RefusedContested, Renamed: RefusedRenamed, Unproven: RefusedUnproven, SecondName: RefusedSecond,
}

// Refusal returns why a contact, or some of its reports, did not count; "" if all did.
func (r Receipt) Refusal() RefusalReason {
	if r.Refused > 0 {
		return RefusedObjects
	}
	return admissionRefusals[r.Admission]
}

// Refusals are those of a cluster on one day, for one reason.
type Refusals struct {
	Day     Day
	Cluster string // "" for names that no cluster has
	Reason  RefusalReason
	Count   int
	Last    time.Time
}

// Day is a day of UTC, by its number since 1970.
type Day int64

// DayOf returns the day of a time.
func DayOf(t time.Time) Day { return Day(t.Unix() / secondsPerDay) }

// Start returns when a day begins.
func (d Day) Start() time.Time { return time.Unix(int64(d)*secondsPerDay, 0).UTC() }

const secondsPerDay = 24 * 60 * 60
