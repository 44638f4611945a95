package agent

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
)

const (
	// fastRead is the interval of reading while objects are in progress or the cluster is
	// unreadable.
	fastRead = 15 * time.Second
	// fullEvery is the average interval of full reports.
	fullEvery                    = time.Hour
	firstBackoff, longestBackoff = 5 * time.Second, 2 * time.Minute
	shortestBackoff              = time.Second
)

// reporter decides when to read and report, and what. It has no clock.
type reporter struct {
	name, boot, version string
	every               time.Duration // as configured
	asked               time.Duration // by the ledger; 0 for none
	random              *rand.Rand

	uid      string
	current  agentapi.State
	readable bool // current is from the last round
	// assumed is the state that the ledger has; nil if unknown.
	assumed  *agentapi.State
	sequence uint64
	failures int
	started  time.Time
	accepted time.Time

	nextRead time.Time
	nextSend time.Time
	retryAt  time.Time // zero after success
}

func newReporter(o Options) *reporter {
	return &reporter{
		name: o.Name, version: o.Version, every: o.Every, random: o.Random,
		boot: strconv.FormatUint(o.Random.Uint64(), 36) + strconv.FormatUint(o.Random.Uint64(), 36), started: o.Now(),
	}
}

func (r *reporter) interval() time.Duration { return max(r.every, r.asked) }

func (r *reporter) spread(d time.Duration) time.Duration {
	return d - d/10 + time.Duration(r.random.Int64N(int64(d/5)+1))
}

func (r *reporter) setState(s agentapi.State, uid string, now time.Time) {
	r.current, r.uid, r.readable = s, uid, true
	pause := r.interval()
	if s.IsMoving() {
		pause = min(pause, fastRead)
	}
	r.nextRead = now.Add(r.spread(pause))
}

func (r *reporter) setUnreadable(now time.Time) {
	r.readable = false
	r.nextRead = now.Add(r.spread(min(r.interval(), fastRead)))
}

func (r *reporter) isDue(now time.Time) bool {
	if !r.readable || now.Before(r.retryAt) {
		return false
	}
	return r.assumed == nil || r.assumed.Digest != r.current.Digest || !now.Before(r.nextSend)
}

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

func (r *reporter) setAccepted(request agentapi.Request, answer agentapi.Answer, now time.Time) {
	r.failures, r.retryAt = 0, time.Time{}
	r.asked = 0
	if every, err := time.ParseDuration(answer.Every); err == nil {
		r.asked = min(every, agentapi.MaxEvery)
	}
	r.nextSend = now.Add(r.spread(r.interval()))
	if answer.Want == agentapi.WantFull {
		if request.Full { // it does not store reports: wait before sending the next
			r.setFailed(errors.New("the ledger asks for everything again"), now)
		}
		r.assumed = nil
		return
	}
	known := r.current
	r.assumed, r.accepted = &known, now
}

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
