package agent

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
)

const (
	// fastRead is how often the cluster is read while something is on its way, or cannot be read.
	fastRead = 15 * time.Second
	// fullEvery is about how often everything is reported without being asked for.
	fullEvery = time.Hour
	// firstBackoff and longestBackoff bound how long a failed report is waited with.
	firstBackoff, longestBackoff = 5 * time.Second, 2 * time.Minute
	// shortestBackoff keeps chance from choosing nothing.
	shortestBackoff = time.Second
)

// reporter decides when to read, when to report, and what. It has no clock: times are passed in.
type reporter struct {
	name, boot, version string
	every               time.Duration // as configured
	asked               time.Duration // as the ledger asks for; 0 if it does not
	random              *rand.Rand

	uid      string
	current  agentapi.State
	readable bool // whether current is of the last round
	// assumed is what the ledger knows; nil if that is not known.
	assumed  *agentapi.State
	sequence uint64
	failures int
	started  time.Time
	accepted time.Time // when a report was last accepted; zero if none was

	nextRead time.Time
	nextSend time.Time // when to report that all is as it was
	retryAt  time.Time // not before that; zero after success
}

func newReporter(o Options) *reporter {
	return &reporter{
		name: o.Name, version: o.Version, every: o.Every, random: o.Random,
		boot: strconv.FormatUint(o.Random.Uint64(), 36) + strconv.FormatUint(o.Random.Uint64(), 36), started: o.Now(),
	}
}

// interval returns how often to report at present.
func (r *reporter) interval() time.Duration { return max(r.every, r.asked) }

// spread returns a time that is up to a tenth shorter or longer.
func (r *reporter) spread(d time.Duration) time.Duration {
	return d - d/10 + time.Duration(r.random.Int64N(int64(d/5)+1))
}

// setState takes in what was read.
func (r *reporter) setState(s agentapi.State, uid string, now time.Time) {
	r.current, r.uid, r.readable = s, uid, true
	pause := r.interval()
	if s.IsMoving() {
		pause = min(pause, fastRead)
	}
	r.nextRead = now.Add(r.spread(pause))
}

// setUnreadable notes that the cluster could not be read.
func (r *reporter) setUnreadable(now time.Time) {
	r.readable = false
	r.nextRead = now.Add(r.spread(min(r.interval(), fastRead)))
}

// isDue reports whether to report now.
func (r *reporter) isDue(now time.Time) bool {
	if !r.readable || now.Before(r.retryAt) {
		return false
	}
	return r.assumed == nil || r.assumed.Digest != r.current.Digest || !now.Before(r.nextSend)
}

// untilNext returns how long there is nothing to do.
func (r *reporter) untilNext(now time.Time) time.Duration {
	next := r.nextRead
	if r.readable && r.failures == 0 && r.nextSend.Before(next) {
		next = r.nextSend
	}
	if r.failures > 0 && r.retryAt.Before(next) {
		next = r.retryAt
	}
	return max(next.Sub(now), shortestBackoff)
}

// nextRequest returns what to send.
func (r *reporter) nextRequest(now time.Time) agentapi.Request {
	r.sequence++
	request := agentapi.Request{
		Version: agentapi.Version, Cluster: r.name, UID: r.uid, Boot: r.boot, Sequence: r.sequence, Sent: now.UTC(), Every: r.interval().String(),
		Count: len(r.current.Entries()), Digest: r.current.Digest, Agent: r.version,
	}
	switch {
	case r.assumed == nil || r.isAfterOutage(now) || r.random.Int64N(int64(max(fullEvery/r.interval(), 1))) == 0 && r.sequence > 1:
		request.Full, request.Entries, request.Unread = true, r.current.Entries(), r.current.Unread()
	case r.assumed.Digest != r.current.Digest:
		request.Base = r.assumed.Digest
		request.Entries, request.Gone = r.current.Diff(*r.assumed)
		request.Unread = r.current.Unread()
	}
	if !r.isAfterOutage(now) {
		request.Entries = withoutPast(request.Entries)
	}
	return request
}

// isAfterOutage reports whether the ledger may have missed something.
func (r *reporter) isAfterOutage(now time.Time) bool {
	return r.accepted.IsZero() || now.Sub(r.accepted) > 2*r.interval()
}

func withoutPast(entries []agentapi.Entry) []agentapi.Entry {
	var all []agentapi.Entry
	for _, e := range entries {
		e.Past = nil
		all = append(all, e)
	}
	return all
}

// setAccepted takes in the answer to a request.
func (r *reporter) setAccepted(request agentapi.Request, answer agentapi.Answer, now time.Time) {
	r.failures, r.retryAt = 0, time.Time{}
	r.asked = 0
	if every, err := time.ParseDuration(answer.Every); err == nil {
		r.asked = min(every, agentapi.MaxEvery)
	}
	r.nextSend = now.Add(r.spread(r.interval()))
	if answer.Want == agentapi.WantFull {
		if request.Full { // it does not keep what it gets: do not send it over and over
			r.setFailed(errors.New("the ledger asks for everything again"), now)
		}
		r.assumed = nil
		return
	}
	known := r.current
	r.assumed, r.accepted = &known, now
}

// setFailed takes in that a request failed, and returns how long to wait before the next one.
func (r *reporter) setFailed(err error, now time.Time) time.Duration {
	longest := min(firstBackoff<<min(r.failures, 10), longestBackoff)
	r.failures++
	wait := max(time.Duration(r.random.Int64N(int64(longest))), shortestBackoff)
	var refused *refusedError
	if errors.As(err, &refused) && refused.retryAfter > 0 {
		wait = min(refused.retryAfter, agentapi.MaxEvery)
		wait += time.Duration(r.random.Int64N(int64(wait/5) + 1))
	}
	r.retryAt = now.Add(wait)
	return wait
}
