// Package ledgercases runs the cases of the ledger with whatever keeps one: in memory, or in a database.
//
// What the package keeps true: an engine is asked only what the text of a case asks, at the time that
// it names, and has then received all that had arrived by then, and nothing else. The texts are in
// internal/ledger/testdata.
package ledgercases

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// Folder is where the cases are, from the root of the module.
const Folder = "internal/ledger/testdata"

// Engine is a ledger, as it has become by what has arrived. What it cannot do ends its test.
type Engine interface {
	AddOutput(ledger.Output)
	Receive(ledger.Contact, []ledger.Report) ledger.Receipt
	// SetAdopted is that of [ledger.Ledger].
	SetAdopted(times map[string]time.Time)
	// LoseStore loses all that is stored, and ends the process.
	LoseStore()
	// FindStandings returns how clusters stand to an output, by type and name.
	FindStandings(wanted ledger.Wanted, now time.Time) []ledger.Standing
	// FindHistory returns the spans of an object, the oldest first.
	FindHistory(ledger.Object) []ledger.Span
	// FindRunning returns what all objects of a name ran at a time, in the order of the first
	// contacts of their clusters.
	FindRunning(object string, at time.Time) []Running
	Clusters() []ledger.Cluster
	Outputs() *ledger.Outputs
}

// Running is what an object runs.
type Running struct {
	Cluster string // the name that it had then
	Span    ledger.Span
}

// Options say how cases are run.
type Options struct {
	// Update has the answers written.
	Update bool
	// Anew has each question asked of a new engine, which nobody has asked before. Otherwise an engine
	// goes on with what arrives after a question, as in production, and at a fraction of the cost.
	Anew bool
}

// Run reads all cases in a folder and compares the answers of an engine with those that they have. A
// question is asked of an engine that has received what arrived until its time.
func Run(t *testing.T, folder string, options Options, open func(t *testing.T, now func() time.Time) Engine) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := readCase(t, archive)
			c.open = open
			w := c.begin()
			for i := range archive.Files {
				f := &archive.Files[i]
				at, question, ok := strings.Cut(f.Name, " ")
				if !ok {
					continue
				}
				now := Clock(t, at)
				if options.Anew || !w.canGoOn(now) {
					w = c.begin()
				}
				w.receive(now)
				got := w.answer(now, strings.Fields(question))
				if diff := gocmp.Diff(string(f.Data), got); diff != "" && !options.Update {
					t.Errorf("%s (-want +got):\n%s", f.Name, diff)
				}
				f.Data = []byte(got)
			}
			if options.Update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// testCase is a case as it is read.
type testCase struct {
	*testing.T
	open     func(t *testing.T, now func() time.Time) Engine
	outputs  []output
	versions map[string]string
	arrivals []arrival
}

// output is an output, and when Fairlead sees it.
type output struct {
	ledger.Output
	seen time.Time
	line int // another one after each time that the branch was rewritten
}

// arrival is what arrives at a time.
type arrival struct {
	contact ledger.Contact
	reports []ledger.Report
	lost    bool // nothing arrives: the store is lost
	adopted bool // nothing arrives: people let another cluster have the name of the contact
}

func readCase(t *testing.T, archive *txtar.Archive) testCase {
	c := testCase{T: t, versions: map[string]string{}}
	for _, f := range archive.Files {
		for line := range strings.Lines(string(f.Data)) {
			switch f.Name {
			case "outputs":
				fields := strings.Fields(line)
				o := output{ledger.Output{Revision: fields[0], Merged: Clock(t, fields[1]), Folders: pairs(fields[2:])}, Clock(t, fields[1]), 0}
				if line, rewritten := o.Folders["line"]; rewritten {
					o.line, _ = strconv.Atoi(line)
					delete(o.Folders, "line")
				}
				if at, late := o.Folders["seen"]; late {
					o.seen = Clock(t, at)
					delete(o.Folders, "seen")
				}
				c.outputs = append(c.outputs, o)
			case "versions":
				maps.Copy(c.versions, pairs(strings.Fields(line)))
			case "arrivals":
				c.arrivals = append(c.arrivals, readArrivals(t, line, len(c.arrivals))...)
			}
		}
	}
	return c
}

// world is what a case has come to at a time. Its outputs are those that are still to come.
type world struct {
	testCase
	Engine
	now     time.Time
	asked   time.Time // all that arrives until then has arrived
	next    int       // the arrival after the last one of these in the file
	seen    []output
	adopted map[string]time.Time
	refused []string
	writes  []time.Time
}

// begin returns a world to which nothing has come.
func (c testCase) begin() *world {
	w := &world{testCase: c, adopted: map[string]time.Time{}}
	w.Engine = c.open(c.T, func() time.Time { return w.now })
	return w
}

// arrivesUntil reports whether an arrival comes between the last question and a time.
func (w *world) arrivesUntil(until time.Time, a arrival) bool {
	return a.contact.Received.After(w.asked) && !a.contact.Received.After(until)
}

// canGoOn reports whether all that arrives until a time comes after what has arrived, in the order of the file.
func (w *world) canGoOn(until time.Time) bool {
	return !until.Before(w.asked) && !slices.ContainsFunc(w.arrivals[:w.next], func(a arrival) bool { return w.arrivesUntil(until, a) })
}

// receive has the engine receive what arrives until a time.
func (w *world) receive(until time.Time) {
	for i, a := range w.arrivals {
		if !w.arrivesUntil(until, a) {
			continue
		}
		w.next = i + 1
		w.addOutputs(a.contact.Received)
		w.now = a.contact.Received
		if a.lost {
			w.LoseStore()
			continue
		}
		if a.adopted {
			w.adopted[a.contact.Name] = w.now
			w.SetAdopted(w.adopted)
			continue
		}
		receipt := w.Receive(a.contact, a.reports)
		if receipt.Admission != ledger.Admitted {
			w.refused = append(w.refused, fmt.Sprintf("%s %s %s: %s", stamp(a.contact.Received), a.contact.Name, a.contact.UID, receipt.Admission))
		}
		for range receipt.Writes {
			w.writes = append(w.writes, a.contact.Received)
		}
	}
	w.addOutputs(until)
	w.now, w.asked = until, until
}

// addOutputs has the engine know the outputs that are seen until a time.
func (w *world) addOutputs(until time.Time) {
	for len(w.outputs) > 0 && !w.outputs[0].seen.After(until) {
		w.now = w.outputs[0].seen
		w.AddOutput(w.outputs[0].Output)
		w.seen = append(w.seen, w.outputs[0])
		w.outputs = w.outputs[1:]
	}
	w.noteAbandoned()
}

// noteAbandoned has the engine know the outputs that were seen, as they are since the branch was rewritten.
func (w *world) noteAbandoned() {
	if len(w.seen) == 0 || w.seen[len(w.seen)-1].line == 0 {
		return
	}
	newest := w.seen[len(w.seen)-1].line
	*w.Outputs() = ledger.Outputs{}
	for _, o := range w.seen {
		o.Abandoned = map[string]bool{}
		for clusterType, folder := range o.Folders {
			o.Abandoned[clusterType] = o.line != newest && !slices.ContainsFunc(w.seen, func(since output) bool {
				return since.line == newest && since.Folders[clusterType] == folder
			})
		}
		w.AddOutput(o.Output)
	}
}

// stamp writes a time of the day, without its seconds if they are zero.
func stamp(t time.Time) string {
	return strings.TrimSuffix(t.Format("15:04:05"), ":00")
}

func (w *world) answer(now time.Time, question []string) string {
	var lines []string
	switch question[0] {
	case "standing":
		lines = w.answerStanding(question[1], question[2:], now)
	case "where":
		lines = w.answerWhere(question[1], now)
	case "history":
		for _, s := range w.FindHistory(ledger.Object{Cluster: question[2], Name: question[1]}) {
			lines = append(lines, w.describeSpan(s))
		}
	case "clusters":
		lines = w.answerClusters(now)
	case "arrivals":
		lines = w.answerArrivals(question[1])
	case "refused":
		lines = w.refused
	case "writes": // since a time
		n := 0
		for _, at := range w.writes {
			if at.After(Clock(w.T, question[2])) {
				n++
			}
		}
		lines = []string{strconv.Itoa(n)}
	case "taken": // taken back by
		for _, o := range w.Outputs().FindRolledBack(question[3]) {
			lines = append(lines, o.Revision)
		}
	default:
		w.Fatalf("nothing answers %q", question)
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// describeSpan writes a span as "12:03-12:04 failed B, runs A, late: message".
func (w *world) describeSpan(s ledger.Span) string {
	until := ""
	if !s.Until.IsZero() {
		until = stamp(s.Until)
	}
	text := fmt.Sprintf("%s-%s %s %s", stamp(s.Since), until, s.Phase, cmp.Or(w.version(s.Target()), "at nothing known"))
	if s.Attempted != "" && s.Revision != "" {
		text += ", runs " + w.version(s.Revision)
	}
	if s.App != "" {
		text += " (" + s.App + ")"
	}
	if s.Late {
		text += ", late"
	}
	if s.Message != "" {
		text += ": " + s.Message
	}
	return text
}

func (w *world) version(revision string) string { return cmp.Or(w.versions[revision], revision) }

// answerStanding answers how clusters stand to an output. The words may be "expected large=3", "listed
// e7=large" and "objects all".
func (w *world) answerStanding(output string, words []string, now time.Time) []string {
	wanted := ledger.Wanted{Environment: "prod", Expected: map[string]int{}, Listed: map[string]string{}}
	var ok bool
	wanted.Output, ok = w.Outputs().Find(output)
	if !ok {
		w.Fatal("there is no output ", output)
	}
	for i, word := range words {
		switch word {
		case "expected":
			for name, n := range pairs(leadingPairs(words[i+1:])) {
				wanted.Expected[name], _ = strconv.Atoi(n)
			}
		case "listed":
			wanted.Listed = pairs(leadingPairs(words[i+1:]))
		case "objects":
			wanted.AllObjects = true
		}
	}
	var lines []string
	counts := map[ledger.Class]int{}
	all := w.FindStandings(wanted, now)
	for _, s := range all {
		counts[s.Class]++
		line := s.Type + " a cluster: " + s.Class.String()
		if s.Listed != "" {
			line = fmt.Sprintf("%s %s: %s", s.Type, s.Listed, s.Class)
		}
		if s.Cluster != nil {
			line = fmt.Sprintf("%s %s: %s", s.Type, s.Cluster.Name(), s.Class)
		}
		switch {
		case s.Class != ledger.ClassContested:
		case s.Cluster.RivalObject != "":
			line += fmt.Sprintf(", %s is %s elsewhere", s.Cluster.RivalObject, s.Cluster.Rival)
		default:
			line += fmt.Sprintf(" by %s and %s", s.Cluster.UID, s.Cluster.Rival)
		}
		if s.Object.Name != "" && s.Object.Name != "P" && s.Class != ledger.ClassReady {
			line += ", " + s.Object.Name
		}
		if s.Message != "" {
			line += ": " + s.Message
		}
		lines = append(lines, line)
	}
	return append(lines, fmt.Sprintf("%d ready, %d failed of %d", counts[ledger.ClassReady], counts[ledger.ClassFailed], len(all)))
}

// leadingPairs returns the words that are pairs, up to the first that is none.
func leadingPairs(words []string) []string {
	n := slices.IndexFunc(words, func(word string) bool { return !strings.Contains(word, "=") })
	if n < 0 {
		return words
	}
	return words[:n]
}

func (w *world) answerWhere(object string, at time.Time) []string {
	var lines []string
	for _, r := range w.FindRunning(object, at) {
		runs := cmp.Or(w.version(r.Span.Revision), "nothing known")
		if r.Span.App != "" {
			runs += " (" + r.Span.App + ")"
		}
		lines = append(lines, fmt.Sprintf("%s runs %s, %s since %s", r.Cluster, runs, r.Span.Phase, stamp(r.Span.Since)))
	}
	return lines
}

func (w *world) answerClusters(now time.Time) []string {
	var lines []string
	for _, c := range w.Clusters() {
		line := fmt.Sprintf("%s %s type %s, first seen %s, last seen %s", c.Name(), c.UID, c.Group.ClusterType, stamp(c.FirstSeen), stamp(c.LastSeen))
		for _, n := range c.Names[:len(c.Names)-1] {
			line += ", was " + n.Name
		}
		for _, p := range c.Places() {
			line += fmt.Sprintf(", was %s in %s until %s", p.Group.ClusterType, p.Group.Environment, stamp(p.Until))
		}
		if c.IsSilent(now) {
			line += ", silent"
		}
		lines = append(lines, line)
	}
	return lines
}

func (w *world) answerArrivals(output string) []string {
	wanted, ok := w.Outputs().Find(output)
	if !ok {
		w.Fatal("there is no output ", output)
	}
	var lines []string
	for _, c := range w.Clusters() {
		a := ledger.FindArrival(w.FindHistory(ledger.Object{Cluster: c.ID, Name: c.Platform}), w.Outputs(), wanted, c.Group.ClusterType)
		line := c.Name()
		if a.Failed >= 0 {
			line += fmt.Sprintf(" failed after %s", a.Failed)
		}
		if a.Ready >= 0 {
			line += fmt.Sprintf(" ready after %s", a.Ready)
		}
		lines = append(lines, line)
	}
	return lines
}
