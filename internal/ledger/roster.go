package ledger

import (
	"cmp"
	"slices"
	"time"
)

// minSilence is the least time after which a cluster counts as silent that reports by events, and minAgentSilence that of one
// with an agent, which says how often it reports.
const (
	minSilence      = 3 * time.Minute
	minAgentSilence = 30 * time.Second
)

// defaultEvery is how often clusters are in touch by events that do not say how often they are.
const defaultEvery = 10 * time.Minute

// provenFor is how long after its last contact a cluster that has proven its name has it alone.
const provenFor = 7 * 24 * time.Hour

// Contact is a cluster that has been in touch, by a credential for a name.
type Contact struct {
	Name string
	// UID identifies the cluster itself, by the uid of its namespace kube-system; "" if it is not
	// known.
	UID   string
	Group Group
	// Platform is the name of the object that pulls the environment's output; "" if it is not known.
	// Of a contact by events neither is known: Group is what the cluster says of itself, see
	// [Ledger.PlaceClusters].
	Platform string
	// Others are other objects that apply a folder of the environment's output.
	Others []Applier
	// Unproven is set if the credential is one that all clusters have.
	Unproven bool
	// OldKey is set if the credential is a key that was renewed since, and is still good for a while.
	OldKey bool
	// Every is how often the cluster means to be in touch; 0 if the contact does not say.
	Every time.Duration
	// Boot and Sequence number the contacts of an agent: Boot is another one after each start.
	// Boot is "" for events.
	Boot     string
	Sequence uint64
	// Sent is by the clock of the cluster; zero for events.
	Sent     time.Time
	Received time.Time
	// AgentSeen is when the agent was in touch before, if the contact is received once more, after others;
	// zero otherwise.
	AgentSeen time.Time
	// Scope is what the reports that come with the contact are of.
	Scope Scope
	// Digest identifies the state of all objects, as an agent has read them; "" for events. Base is
	// the Digest that Changes are a difference from.
	Digest, Base string
	// Gone are the objects that an agent has no longer found, with Changes.
	Gone []string
	// HeldUp is an object whose controller finishes the health check of a revision although it has a newer one; "" for none.
	HeldUp string
	// Unread are the kinds that an agent could not read, with Changes and Everything: nothing is
	// known of their objects by now.
	Unread []string
}

// Scope is what the reports of a contact are of.
type Scope uint8

// The scopes.
const (
	Some       Scope = iota // of some objects, as events are
	Nothing                 // of none: all is as it was at Digest
	Changes                 // of those that differ between Base and Digest
	Everything              // of all that the cluster has
)

// isReplay reports whether a contact of an agent is not newer than the last one of its cluster: by
// its number, or after another start of the agent by its time.
func (c Contact) isReplay(last *Cluster) bool {
	switch {
	case c.Boot == "" || last.Boot == "":
		return false
	case c.Boot == last.Boot:
		return c.Sequence <= last.Sequence
	}
	return !c.Sent.After(last.Sent)
}

// Admission is what becomes of a contact.
type Admission uint8

// The admissions. Only what comes with an admitted contact counts.
const (
	Admitted   Admission = iota
	Replayed             // it is not newer than the last one
	Contested            // another cluster has the name
	Renamed              // the cluster has another name by now
	Unproven             // the cluster has a credential of its own, and this contact another one
	SecondName           // the cluster still reports under its own name
)

var admissionNames = [...]string{"admitted", "replayed", "contested", "renamed", "unproven", "second-name"}

// String returns the name of an admission.
func (a Admission) String() string { return admissionNames[min(int(a), len(admissionNames)-1)] }

// Cluster is what is known of a cluster.
type Cluster struct {
	// ID is what its objects are filed under: the name that it was first known by.
	ID       string
	Names    []Naming // the oldest first
	UID      string
	Group    Group
	Platform string
	// Others are other objects that apply a folder of the output; nil for none, as on most clusters. It is not changed
	// once it is set.
	Others []Applier
	// Left are the places that the cluster has left, the oldest first: see Ledger.noteMove. It is nil for
	// none, as of most clusters, and not changed once it is set.
	Left *[]Place
	// Claim is to what part of the fleet the cluster has last said by an event that it belongs. It may
	// be lost.
	Claim Group
	// Unproven is set unless the cluster has used a credential of its own, in its last contact or in
	// the week before.
	Unproven bool
	Every    time.Duration
	// FirstSeen and LastSeen are times of ours.
	FirstSeen, LastSeen time.Time
	// Rival is the uid of another cluster that reports under the same name, and RivalSeen when it
	// last did. Events do not name their cluster: of one that reports by them Rival is the uid of
	// RivalObject, which is "" otherwise.
	Rival, RivalObject string
	RivalSeen          time.Time
	// Excluded is the environment of which the cluster reports an output, and in which it does not count: see [Membership]. "" for
	// none. It may be lost.
	Excluded string
	// HeldUp is the last object that was reported to finish the health check of an older revision first, and HeldUpSeen when;
	// "" for none. It may be lost.
	HeldUp     string
	HeldUpSeen time.Time
	// Began is when the cluster was last in touch in whose place this one was built; zero if there was
	// none. What is known of the objects of this one begins then.
	Began time.Time

	// Boot, Sequence and Sent are those of the last contact of an agent, and AgentSeen is when it was
	// received.
	Boot            string
	Sequence        uint64
	Sent, AgentSeen time.Time
	// Digest is that of what is known of the objects; "" if it may differ from what an agent has read.
	Digest string
}

// Naming is a name that a cluster has since a time.
type Naming struct {
	Name  string
	Since time.Time
}

// NameAt returns the name that a cluster had at a time; its first one for an earlier time.
func (c *Cluster) NameAt(at time.Time) string {
	name := c.Names[0].Name
	for _, n := range c.Names {
		if !n.Since.After(at) {
			name = n.Name
		}
	}
	return name
}

// Name returns the name that a cluster has now.
func (c *Cluster) Name() string { return c.Names[len(c.Names)-1].Name }

// IsSilent reports whether a cluster has missed three contacts.
func (c *Cluster) IsSilent(now time.Time) bool { return now.Sub(c.LastSeen) > c.patience() }

// SilentAt returns when a cluster counts as silent, unless it is in touch again.
func (c *Cluster) SilentAt() time.Time { return c.LastSeen.Add(c.patience()) }

// IsContested reports whether another cluster has lately reported under the same name.
func (c *Cluster) IsContested(now time.Time) bool {
	return c.Rival != "" && now.Sub(c.RivalSeen) <= c.patience()
}

func (c *Cluster) patience() time.Duration {
	if c.Boot != "" {
		return max(3*c.Every, minAgentSilence)
	}
	return max(3*c.Every, minSilence)
}

// Roster has the clusters that were ever in touch. The zero Roster has none.
type Roster struct {
	clusters   []*Cluster // in the order of their first contact
	byName     map[string]*Cluster
	byUID      map[string]*Cluster
	adopted    map[string]time.Time // see SetAdopted
	membership Membership
}

// All returns all clusters, in the order in which they were first in touch; of the same time, by ID.
func (r *Roster) All() []*Cluster { return slices.Clone(r.clusters) }

// Find returns the cluster that has, or had, a name; nil if there is none.
func (r *Roster) Find(name string) *Cluster { return r.byName[name] }

// findAgentSeen returns when an agent of the cluster of a contact was last in touch; the zero time if none
// was.
func (r *Roster) findAgentSeen(c Contact) time.Time {
	known := cmp.Or(r.byName[c.Name], r.byUID[c.UID])
	if known == nil {
		return time.Time{}
	}
	return known.AgentSeen
}

// Admit takes a contact in, and returns the cluster that it is of. A cluster under a new name is
// renamed; one under the name of another cluster is refused, unless it was built in the place of that.
// A contact by events is of another cluster if what it reports of is a stranger.
func (r *Roster) Admit(c Contact, of stranger) (*Cluster, Admission) {
	known, same := r.byName[c.Name], r.byUID[c.UID]
	switch {
	case known == nil && same == nil:
		return r.addCluster(c), Admitted
	case known == nil && !same.IsSilent(c.Received):
		return same, SecondName
	case known == nil:
		same.Names = append(same.Names, Naming{c.Name, c.Received})
		r.byName[c.Name], known = same, same
	case known.Name() != c.Name:
		return known, Renamed
	case c.Unproven && !known.Unproven && c.Received.Sub(known.LastSeen) < provenFor:
		return known, Unproven
	case of != stranger{}:
		known.contest(of.uid, of.object, c.Received)
		return known, Contested
	case c.UID == "" && known.UID != "" && known.RivalObject == "" && known.IsContested(c.Received):
		return known, Contested // it is not known of which of the two
	case c.UID != "" && known.UID == "" && same == nil:
		known.UID, r.byUID[c.UID] = c.UID, known
	case c.UID != "" && known.UID != c.UID && !r.isAdopted(c, known):
		known.contest(c.UID, "", c.Received)
		return known, Contested
	case c.UID != "" && known.UID != c.UID:
		r.replace(known, c.UID)
	}
	if c.isReplay(known) {
		return known, Replayed
	}
	known.touch(c)
	return known, Admitted
}

func (r *Roster) addCluster(c Contact) *Cluster {
	added := &Cluster{ID: c.Name, Names: []Naming{{c.Name, c.Received}}, UID: c.UID, Unproven: true, FirstSeen: c.Received}
	added.touch(c)
	r.add(added)
	return added
}

// add takes in a cluster that is not known.
func (r *Roster) add(c *Cluster) {
	if r.byName == nil {
		r.byName, r.byUID = map[string]*Cluster{}, map[string]*Cluster{}
	}
	i := len(r.clusters) // nearly always
	for i > 0 && c.isFirst(r.clusters[i-1]) {
		i--
	}
	r.clusters = slices.Insert(r.clusters, i, c)
	for _, n := range c.Names {
		r.byName[n.Name] = c
	}
	if c.UID != "" {
		r.byUID[c.UID] = c
	}
}

// findRivals returns the clusters that cannot be known beside another one, which may be itself.
func (r *Roster) findRivals(c Cluster) (all []*Cluster) {
	add := func(known *Cluster) {
		if known != nil && !slices.Contains(all, known) {
			all = append(all, known)
		}
	}
	for _, n := range c.Names {
		add(r.byName[n.Name])
	}
	if c.UID != "" {
		add(r.byUID[c.UID])
	}
	return all
}

// isFirst reports whether a cluster comes before another one.
func (c *Cluster) isFirst(other *Cluster) bool {
	if c.FirstSeen.Equal(other.FirstSeen) {
		return c.ID < other.ID
	}
	return c.FirstSeen.Before(other.FirstSeen)
}

func (r *Roster) remove(c *Cluster) {
	i := slices.Index(r.clusters, c)
	r.clusters = slices.Delete(r.clusters, i, i+1)
	for _, n := range c.Names {
		if r.byName[n.Name] == c {
			delete(r.byName, n.Name)
		}
	}
	if r.byUID[c.UID] == c {
		delete(r.byUID, c.UID)
	}
}

// touch takes in what a contact says of the cluster itself.
func (c *Cluster) touch(by Contact) {
	c.Unproven = by.Unproven
	c.touchGroup(by)
	if by.Boot != "" {
		c.Boot, c.Sequence, c.Sent, c.AgentSeen = by.Boot, by.Sequence, by.Sent, by.Received
	}
	every := cmp.Or(by.Every, defaultEvery)
	switch {
	case by.Boot == "" && by.Received.Sub(c.AgentSeen) <= 3*every: // an agent keeps its own time
	case by.Every > 0 || c.Every == 0 || by.Boot == "" && c.Boot != "": // what an agent meant says nothing of events
		c.Every = every
	}
	if by.Scope != Changes && (by.Platform != "" || by.knowsPlace()) {
		c.Platform, c.Others = by.Platform, by.Others
	}
	if by.Received.After(c.LastSeen) {
		c.LastSeen = by.Received
	}
	if by.HeldUp != "" {
		c.HeldUp, c.HeldUpSeen = by.HeldUp, by.Received
	}
}

// knowsPlace reports whether a contact that names no place says that there is none.
func (c Contact) knowsPlace() bool { return c.Scope == Everything && len(c.Unread) == 0 }

// touchGroup takes in to what part of the fleet a cluster belongs. What it says of itself counts as
// long as nothing else is known: no event takes it elsewhere.
func (c *Cluster) touchGroup(by Contact) {
	switch {
	case by.Scope == Changes: // they name some objects alone: see Cluster.isReplaced
	case by.Boot != "" || by.Platform != "":
		if by.Group != (Group{}) || by.knowsPlace() {
			c.Group = by.Group
		}
	case by.Group == (Group{}):
	default:
		c.Claim = by.Group
		if c.Platform == "" && !c.hasAgent(by.Received) {
			c.Group = by.Group
		}
	}
}

// Clone returns a copy that does not change with the cluster.
func (c *Cluster) Clone() *Cluster {
	clone := *c
	clone.Names = slices.Clone(c.Names)
	return &clone
}
