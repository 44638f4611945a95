package promoter

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

// evaluateProof evaluates the proof of an environment's commit by the reports about the objects of one lane; false if the
// reports do not tell the lanes apart.
func (e *laneDecider) evaluateProof(ctx context.Context, environment, name string) (gate.Verdict, bool) {
	i := slices.IndexFunc(e.stages, func(s *stageState) bool { return s.spec.Name == environment })
	s := e.stages[i]
	if name == lane.Platform { // any failure may be its own
		return s.stage.Proof, true
	}
	if s.facts.MergedAt.IsZero() || s.stage.External {
		return gate.Verdict{}, false
	}
	p := laneProof{decider: e, stage: s, lane: name, objects: e.findObjects(ctx, s)}
	f, known := p.selectFacts(s.facts)
	version := e.history.Version(name, lane.Stage{Stage: s.stage, Lanes: s.lanes}.Has(name))
	if f.Costs != nil {
		s.decider = e
		err := readLaneCosts(ctx, s, version, name, &f)
		if err != nil {
			s.recordError(err)
			return gate.Verdict{}, false
		}
	}
	running := s.running.Evaluate(f)
	if p.objects.of != "" && !slices.Contains(slices.Collect(maps.Values(p.objects.owners)), name) {
		known, running = true, gate.CombineVerdicts("rollout", []gate.Verdict{{Gate: "rollout", Status: gate.Pass, Reason: fmt.Sprintf("lane %s has no objects in %s", name, environment)}})
	}
	if !known {
		return gate.Verdict{}, false
	}
	deployed, err := e.promoter.recordLane(ctx, s, name, version, time.Time{}, running.Status == gate.Pass)
	if err != nil {
		s.recordError(err)
		return gate.Verdict{}, false
	}
	f.DeployedAt = deployed
	soaking := s.soaking.Evaluate(f)
	return gate.CombineVerdicts("proof", slices.Concat(running.Parts, soaking.Parts)), true
}

type laneObjects struct {
	of    string            // the output, and the lanes; "" if the objects are unknown
	lanes map[string]string // by [objectName]; "" for names that several lanes have
	// owners are the lanes of folders, as "cloud/shop-web", and checked the objects there that have to be reported as ready.
	owners  map[string]string
	checked map[string][]string
	changed map[string]time.Time // when a folder changed last
}

type laneReports struct {
	clusterType string
	objects     map[string]observe.Event // by [objectName]
}

// laneProof selects what is reported about the objects of one lane.
type laneProof struct {
	decider *laneDecider
	stage   *stageState
	lane    string
	objects *laneObjects
	// reported is whether anything tells the lane's state, and unclear whether a cluster does not.
	reported, unclear bool
}

// selectFacts returns the facts as they are for one lane: a failure that names only objects of other lanes is not its own. It
// returns false if the reports do not tell the lanes apart.
func (p *laneProof) selectFacts(f gate.Facts) (gate.Facts, bool) {
	own := map[string]bool{} // clusters that report the output of the lane's objects
	for _, r := range f.Reports {
		p.noteApplied(r)
		own[r.Source] = own[r.Source] || r.Current && p.owns(objectOfReport(r.Object))
	}
	var reports []rollout.Report
	for _, r := range f.Reports {
		switch object := objectOfReport(r.Object); {
		case p.owns(object):
		case own[r.Source], p.objects.lanes[object] != "":
			continue
		default:
			r.Phase, r.Message = p.judge(r.Source, r.Object, r.Phase, r.Message, r.Current)
		}
		p.reported = true
		reports = append(reports, r)
	}
	f.Reports = reports
	isOfOthers := func(st gate.CommitStatus) bool {
		object := objectOfStatus(st.Context) // others are about all lanes
		owns := p.owns(object)
		p.reported = p.reported || owns
		return object != "" && !owns
	}
	f.OutputStatuses = slices.DeleteFunc(slices.Clone(f.OutputStatuses), isOfOthers)
	f.PreviousStatuses = slices.DeleteFunc(slices.Clone(f.PreviousStatuses), isOfOthers)
	fleets := map[string]rollout.Fleet{}
	for key, fleet := range f.Fleets {
		fleet.Standings = slices.Clone(fleet.Standings)
		for i := range fleet.Standings {
			p.judgeCluster(&fleet.Standings[i])
		}
		p.reported = p.reported || fleet.Unknown == "" && len(fleet.Standings) > 0
		fleets[key] = fleet
	}
	f.Fleets = fleets
	return f, p.reported && !p.unclear
}

func (p *laneProof) owns(object string) bool {
	return object != "" && p.objects.lanes[object] == p.lane
}

func (p *laneProof) judgeCluster(s *rollout.Standing) {
	if s.Class != ledger.ClassFailed {
		return
	}
	phase, message := p.judge(s.Cluster, s.Object, rollout.Failed, s.Message, true)
	classes := map[rollout.Phase]ledger.Class{rollout.Ready: ledger.ClassReady, rollout.Progressing: ledger.ClassProgressing}
	if class, isOther := classes[phase]; isOther {
		s.Class = class
	}
	s.Message = message
}

func (p *laneProof) judge(cluster, object string, phase rollout.Phase, message string, current bool) (rollout.Phase, string) {
	failed := list.Convert(ledger.ParseUnready(message), func(u ledger.UnreadyObject) string { return u.Name })
	if p.objects.lanes[objectName(object)] != "" { // the failure of an object of a lane
		failed = []string{object}
	}
	isOther := func(name string) bool {
		owner := p.objects.lanes[objectName(name)]
		return owner != "" && owner != p.lane
	}
	if phase != rollout.Failed || !current || len(failed) == 0 || !slices.ContainsFunc(failed, isOther) || slices.ContainsFunc(failed, func(name string) bool { return !isOther(name) }) {
		return phase, message
	}
	if strings.Contains(message, ledger.HealthTimeout) { // it names all that are not ready
		return rollout.Ready, ""
	}
	return p.judgeObjects(cluster)
}

func (p *laneProof) judgeObjects(cluster string) (rollout.Phase, string) {
	known := p.readEvents()[cluster]
	worst := rollout.Ready
	for folder, objects := range p.objects.checked {
		if p.objects.owners[folder] != p.lane || known.clusterType != "" && path.Dir(folder) != known.clusterType && !strings.Contains(path.Dir(folder), "/") { // stacks have no cluster type

			continue
		}
		changed := p.findChange(folder)
		applied := p.stage.memory.laneApplied[appliedFolder{cluster, folder, changed}]
		for _, object := range objects {
			event, isReported := known.objects[object]
			switch {
			case !isReported:
				p.unclear = true
			case event.Phase == rollout.Failed:
				return rollout.Failed, event.Object + ": " + event.Message
			case event.Phase != rollout.Ready, event.When.Before(changed.Truncate(time.Second)), event.When.Before(applied.Truncate(time.Second)):
				worst = rollout.Progressing
			}
		}
	}
	return worst, ""
}

type appliedFolder struct {
	cluster, folder string
	changed         time.Time
}

// maxApplied bounds how many folders are remembered.
const maxApplied = 20_000

// noteApplied remembers when a cluster first reported that it has applied what the folders of the lane hold. What their objects
// reported before is about the files before, even if they were reconciled after the merge.
func (p *laneProof) noteApplied(r rollout.Report) {
	object := objectName(r.Object)
	if _, isInside := p.objects.lanes[object]; isInside || !r.Current || r.Time.IsZero() {
		return
	}
	known := &p.stage.memory.laneApplied
	for folder, owner := range p.objects.owners {
		if owner != p.lane {
			continue
		}
		key := appliedFolder{r.Source, folder, p.findChange(folder)}
		at, isKnown := (*known)[key]
		if isKnown && !r.Time.Before(at) {
			continue
		}
		if *known == nil || len(*known) > maxApplied {
			*known = map[appliedFolder]time.Time{}
		}
		(*known)[key] = r.Time
	}
}

// findChange returns when a folder of the output changed last; the time of the merge if that cannot be read.
func (p *laneProof) findChange(folder string) time.Time {
	known, isKnown := p.objects.changed[folder]
	if isKnown {
		return known
	}
	at, changed := p.stage.output, p.stage.facts.MergedAt
	commit, err := at.remote.Mirror().LastChangedBy(at.head, path.Join(at.folder, folder), maxRecords)
	if err == nil && commit.When.Before(changed) {
		changed = commit.When
	}
	p.objects.changed[folder] = changed
	return changed
}

func (p *laneProof) readEvents() map[string]laneReports {
	known, isKnown := p.decider.events[p.stage.spec.Name]
	if isKnown {
		return known
	}
	known = map[string]laneReports{}
	p.decider.events[p.stage.spec.Name] = known
	inbox := p.decider.promoter.options.Inbox
	if inbox == nil {
		return known
	}
	inbox.Reports(func(event observe.Event) (current, ok bool) {
		if event.Environment != p.stage.spec.Name {
			return false, false
		}
		of := known[event.Cluster]
		if of.objects == nil {
			of.objects = map[string]observe.Event{}
		}
		of.clusterType = cmp.Or(of.clusterType, event.ClusterType)
		of.objects[objectName(event.Object)] = event
		known[event.Cluster] = of
		return false, false
	})
	return known
}

func objectName(object string) string {
	object, _, _ = strings.Cut(object, "@")
	kind, rest, _ := strings.Cut(object, "/")
	return strings.ToLower(kind) + "/" + rest[strings.LastIndexByte(rest, '/')+1:]
}

var reportedObjects = []string{"kustomization", "helmrelease"}

// passiveKinds are ready once they are applied, or judged by the objects that use them.
var passiveKinds = []string{
	"Namespace", "ConfigMap", "Secret", "ServiceAccount", "ResourceQuota", "LimitRange", "NetworkPolicy", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding",
	"GitRepository", "OCIRepository", "HelmRepository", "Bucket", "Application",
}

// objectOfReport returns the kind and name of a reported "Kustomization/flux-system/apps".
func objectOfReport(object string) string {
	object, _, _ = strings.Cut(object, "@")
	parts := strings.Split(object, "/")
	if len(parts) != 3 || !slices.Contains(reportedObjects, strings.ToLower(parts[0])) {
		return ""
	}
	return strings.ToLower(parts[0]) + "/" + parts[2]
}

// objectOfStatus returns the kind and name in the context of a status of Flux, "kustomization/apps/0a1b2c3d"; "" for others.
func objectOfStatus(context string) string {
	parts := strings.Split(context, "/")
	if len(parts) != 3 || !slices.Contains(reportedObjects, parts[0]) {
		return ""
	}
	return parts[0] + "/" + parts[1]
}

// findObjects renders the environment once for each output.
func (e *laneDecider) findObjects(ctx context.Context, s *stageState) *laneObjects {
	of := s.output.head + " " + s.composition().String() + "\n" + e.partition.Key()
	if known := s.memory.laneObjects; known != nil && known.of == of {
		return known
	}
	found := &laneObjects{of: of, lanes: map[string]string{}, checked: map[string][]string{}, owners: map[string]string{}, changed: map[string]time.Time{}}
	rendered, err := e.render(ctx, s.spec.Name, s.composition())
	if err != nil || rendered.Problem != "" { // which objects the reports are about is unknown
		found.of = ""
		return found
	}
	for file, content := range rendered.Tree.All() {
		folder, owner := path.Dir(file), rendered.Owners.Find(file)
		if owner != lane.Platform {
			for parent := path.Dir(folder); strings.Contains(parent, "/"); parent = path.Dir(parent) {
				folder = parent
			}
			folder = cmp.Or(rendered.Owners.StackFolder(file), folder)
			found.owners[folder] = owner
		}
		objects, _ := manifest.Decode(content)
		for _, o := range objects {
			found.add(o, folder, owner)
		}
	}
	s.memory.laneObjects = found
	return found
}

func (l *laneObjects) add(o manifest.Object, folder, owner string) {
	name := objectName(o.Kind + "/" + o.Name)
	if other, known := l.lanes[name]; known && other != owner {
		owner = ""
	}
	l.lanes[name] = owner
	if !slices.Contains(passiveKinds, o.Kind) {
		l.checked[folder] = append(l.checked[folder], name)
	}
}
