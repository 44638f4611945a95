package ledger

import (
	"cmp"
	"slices"
	"time"
)

// Minimum times until a cluster without contact is silent, with events and with an agent.
const (
	minSilence      = 3 * time.Minute
	minAgentSilence = 30 * time.Second
)

// defaultEvery is the assumed interval of events.
const defaultEvery = 10 * time.Minute

// provenFor is how long a proven name stays reserved after a contact.
const provenFor = 7 * 24 * time.Hour

// Contact is a message of a cluster, authenticated for a name.
type Contact struct {
	Name string
	// UID is that of the namespace kube-system; "" if unknown.
	UID   string
	Group Group
	// Platform is the object that pulls the output; "" if unknown. Events lack it, and their Group
	// is only a claim: see [Ledger.PlaceClusters].
	Platform string
	Others   []Applier
	// Unproven marks the credential that all clusters share.
	Unproven bool
	// OldKey marks a renewed key that is still valid.
	OldKey bool
	// Every is the intended interval; 0 if not stated.
	Every time.Duration
	// Boot identifies a start of the agent, "" for events. Sequence numbers its contacts.
	Boot     string
	Sequence uint64
	// Sent is by the cluster's clock; zero for events.
	Sent     time.Time
	Received time.Time
	// AgentSeen is the agent's previous contact if this one is received again.
	AgentSeen time.Time
	Scope     Scope
	// Digest identifies the state that an agent read; "" for events. Changes are relative to Base.
	Digest, Base string
	// Gone has removed objects, with Changes.
	Gone []string
	// HeldUp is an object whose controller still checks an older revision; "" for none.
	HeldUp string
	// Unread has unreadable kinds. The state of their objects is unknown.
	Unread []string
}

// Scope tells which objects a contact reports.
type Scope uint8

// The scopes of a contact.
const (
	Some       Scope = iota // arbitrary objects, as with events
	Nothing                 // none: the state is unchanged since Digest
	Changes                 // those that differ between Base and Digest
	Everything              // all objects of the cluster
)

// isReplay reports whether an agent's contact is not newer than the last, by number or, after a
// restart, by time.
func (c Contact) isReplay(last *Cluster) bool {
	switch {
	case c.Boot == "" || last.Boot == "":
		return false
	case c.Boot == last.Boot:
		return c.Sequence <= last.Sequence
	}
	return !c.Sent.After(last.Sent)
}

// Admission is the decision about a contact.
type Admission uint8

// The admissions. Only admitted contacts count.
const (
	Admitted   Admission = iota
	Replayed             // not newer than the last one
	Contested            // another cluster has the name
	Renamed              // the cluster has a newer name
	Unproven             // the cluster has its own credential, and used another
	SecondName           // the cluster still reports under its own name
)

var admissionNames = [...]string{"admitted", "replayed", "contested", "renamed", "unproven", "second-name"}

// String returns the name of an admission.
func (a Admission) String() string { return admissionNames[min(int(a), len(admissionNames)-1)] }

// Cluster is the known state of a cluster.
type Cluster struct {
	// ID is the first name; objects are stored under it.
	ID       string
	Names    []Naming // oldest first
	UID      string
	Group    Group
	Platform string
	// Others is nil on most clusters, and never modified in place.
	Others []Applier
	// Left has previous places, oldest first. It is nil for most clusters, and never modified in
	// place.
	Left *[]Place
	// Claim is the group of the last event. It may be lost.
	Claim Group
	// Unproven is set if the last contact used the shared credential.
	Unproven bool
	Every    time.Duration
	// FirstSeen and LastSeen are by our clock.
	FirstSeen, LastSeen time.Time
	// Rival is another cluster's uid under the same name, last seen at RivalSeen; with events, the
	// uid of RivalObject.
	Rival, RivalObject string
	RivalSeen          time.Time
	// Excluded is the environment of the reported output if the cluster may not count there. It may
	// be lost.
	Excluded string
	// HeldUp is the last object with an older check first. It may be lost.
	HeldUp     string
	HeldUpSeen time.Time
	// Began is the last contact of the replaced cluster; zero for none. Spans start no earlier.
	Began time.Time

	// Boot, Sequence and Sent are from the last contact of an agent, at AgentSeen.
	Boot            string
	Sequence        uint64
	Sent, AgentSeen time.Time
	// Digest identifies the known objects; "" if an agent's may differ.
	Digest string
}

// Naming is a name since a time.
type Naming struct {
	Name  string
	Since time.Time
}

// NameAt returns a cluster's name at a time; its first for earlier times.
func (c *Cluster) NameAt(at time.Time) string {
	name := c.Names[0].Name
	for _, n := range c.Names {
		if !n.Since.After(at) {
			name = n.Name
		}
	}
	return name
}

// Name returns the current name.
func (c *Cluster) Name() string { return c.Names[len(c.Names)-1].Name }

// IsSilent reports whether a cluster missed three contacts.
func (c *Cluster) IsSilent(now time.Time) bool { return now.Sub(c.LastSeen) > c.patience() }

// SilentAt returns when a cluster becomes silent without another contact.
func (c *Cluster) SilentAt() time.Time { return c.LastSeen.Add(c.patience()) }

// IsContested reports whether another cluster recently reported under the same name.
func (c *Cluster) IsContested(now time.Time) bool {
	return c.Rival != "" && now.Sub(c.RivalSeen) <= c.patience()
}

func (c *Cluster) patience() time.Duration {
	if c.Boot != "" {
		return max(3*c.Every, minAgentSilence)
	}
	return max(3*c.Every, minSilence)
}

// Roster has all clusters ever in touch. The zero Roster is empty.
type Roster struct {
	clusters   []*Cluster
	byName     map[string]*Cluster
	byUID      map[string]*Cluster
	adopted    map[string]time.Time
	membership Membership
}

// All returns all clusters by first contact and ID.
func (r *Roster) All() []*Cluster { return slices.Clone(r.clusters) }

// Find returns the cluster that has or had a name; nil if none.
func (r *Roster) Find(name string) *Cluster { return r.byName[name] }

func (r *Roster) findAgentSeen(c Contact) time.Time {
	known := cmp.Or(r.byName[c.Name], r.byUID[c.UID])
	if known == nil {
		return time.Time{}
	}
	return known.AgentSeen
}

// Admit decides about a contact and returns its cluster. A known uid with a new name renames its
// cluster. A uid with another's name is refused unless it may replace it, and so are events about a
// stranger.
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
		return known, Contested // either of the two may have sent it
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

func (r *Roster) add(c *Cluster) {
	if r.byName == nil {
		r.byName, r.byUID = map[string]*Cluster{}, map[string]*Cluster{}
	}
	i := len(r.clusters)
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

func (c *Cluster) touch(by Contact) {
	c.Unproven = by.Unproven
	c.touchGroup(by)
	if by.Boot != "" {
		c.Boot, c.Sequence, c.Sent, c.AgentSeen = by.Boot, by.Sequence, by.Sent, by.Received
	}
	every := cmp.Or(by.Every, defaultEvery)
	switch {
	case by.Boot == "" && by.Received.Sub(c.AgentSeen) <= 3*every:
	case by.Every > 0 || c.Every == 0 || by.Boot == "" && c.Boot != "": // an agent's interval does not apply to events
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

func (c Contact) knowsPlace() bool { return c.Scope == Everything && len(c.Unread) == 0 }

// touchGroup updates the group. A claim counts only without a known place: events never move a
// cluster.
func (c *Cluster) touchGroup(by Contact) {
	switch {
	case by.Scope == Changes: // see Cluster.isReplaced
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

// Clone returns an independent copy.
func (c *Cluster) Clone() *Cluster {
	clone := *c
	clone.Names = slices.Clone(c.Names)
	return &clone
}
