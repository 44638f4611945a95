package impact

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

const (
	clusterPlace  = "cluster"
	manifestPlace = "manifest"
)

// clusterVerb describes steps of a kind. In words, %s stands for the name of the
// subject.
type clusterVerb struct {
	words   string
	deletes bool
}

// clusterVerbs has the kinds of steps that a title names; the others follow from these.
var clusterVerbs = map[provision.Kind]clusterVerb{
	provision.DestroyCluster:     {"DESTROY", true},
	provision.DeleteLB:           {"DELETE load balancer %s of", true},
	provision.DeleteRole:         {"DELETE role %s of", true},
	provision.DetachClusterType:  {"DETACH cluster type %s from", true},
	provision.MoveAPIEndpoint:    {"move the API endpoint of", false},
	provision.TransferAPINode:    {"move the API endpoint of", false},
	provision.ReplaceDNS:         {"replace the DNS records of %s of", false},
	provision.ChangeRoleExternal: {"change the port of role %s of", false},
	provision.UpgradeKubernetes:  {"upgrade Kubernetes of", false},
	provision.ChangeProxy:        {"change the installation proxy of", false},
	provision.ChangeRoleInternal: {"change role %s of", false},
	provision.Bootstrap:          {"create", false},
	provision.JoinLB:             {"add load balancer %s to", false},
	provision.AddRole:            {"add role %s to", false},
	provision.RetargetLB:         {"retarget %s of", false},
	provision.AttachClusterType:  {"attach cluster type %s to", false},
	provision.PatchNodes:         {"change labels of nodes of", false},
	provision.ToAutoscaled:       {"autoscale pool %s of", false},
	provision.ToFixed:            {"fix the size of pool %s of", false},
	provision.SetAutoscaler:      {"change the autoscaling of pool %s of", false},
	provision.Open6443:           {"open port 6443 of", false},
	provision.Close6443:          {"close port 6443 of", false},
	provision.RotateCredentials:  {"rotate the credentials of %s of", false},
	provision.DropProvider:       {"drop provider %s of", false},
	provision.DropKubeconfig:     {"remove the kubeconfig of", false},
	provision.DropCredentials:    {"remove credentials of", false},
	provision.DropObjects:        {"remove what was destroyed of", false},
}

// wholeClusters are the kinds of steps that imply all other steps of a cluster.
var wholeClusters = []provision.Kind{provision.DestroyCluster, provision.Bootstrap}

type clusterPhrases struct {
	all   []*phrase
	ranks map[*phrase]int
	known map[string]*phrase
}

const (
	rankClusterDestroyed = iota
	rankClusterDeletes
	rankClusterOutage
	rankClusterRolling
	rankClusterOther
)

func phraseClusters(changes []ClusterChange) []phrase {
	b := clusterPhrases{ranks: map[*phrase]int{}, known: map[string]*phrase{}}
	for _, c := range changes {
		b.addChange(c)
	}
	slices.SortStableFunc(b.all, func(x, y *phrase) int { return b.ranks[x] - b.ranks[y] })
	return list.Convert(b.all, func(p *phrase) phrase { return *p })
}

func addPhrases(clusters, others []phrase) []phrase {
	if len(clusters) == 0 {
		return others
	}
	others = slices.DeleteFunc(others, func(p phrase) bool { return p.form == filesChange && p.objects[0].class == ClusterFiles })
	return insertPhrases(clusters, others)
}

// insertPhrases merges phrases: deletions before other phrases, and first before others
// in both.
func insertPhrases(first, others []phrase) []phrase {
	firstOther := func(all []phrase) int {
		if i := slices.IndexFunc(all, func(p phrase) bool { return !p.deletes }); i >= 0 {
			return i
		}
		return len(all)
	}
	i, j := firstOther(first), firstOther(others)
	return slices.Concat(first[:i], others[:j], first[i:], others[j:])
}

func (b *clusterPhrases) addChange(c ClusterChange) {
	manifest := c.Manifest
	if c.Unknown != "" {
		b.add(rankClusterOther, manifestPlace, manifest, phrase{verb: "change", note: " (steps not known)"})
		return
	}
	of := map[string][]provision.Step{}
	var order []string
	for _, s := range c.Steps {
		if of[s.Cluster] == nil {
			order = append(order, s.Cluster)
		}
		of[s.Cluster] = append(of[s.Cluster], s)
	}
	for _, cluster := range order {
		if cluster == "" && c.removed {
			b.add(rankClusterOther, manifestPlace, manifest, phrase{verb: "remove"})
			continue
		}
		b.addSteps(manifest, cluster, of[cluster])
	}
	for _, cluster := range c.Rebound {
		b.add(rankClusterOther, clusterPlace, cluster, phrase{verb: "change the binding of"})
	}
	for _, cluster := range c.recopied {
		b.add(rankClusterOther, clusterPlace, cluster, phrase{verb: "replace what copies the kubeconfig of"})
	}
	for _, cluster := range c.Released {
		b.add(rankClusterOther, clusterPlace, cluster, phrase{verb: "let", note: " be removed by the next change"})
	}
	switch n := len(c.Approved); {
	case n == 1:
		b.add(rankClusterOther, manifestPlace, manifest, phrase{verb: "approve the plan of %s of", names: c.Approved})
	case n > 1:
		b.add(rankClusterOther, manifestPlace, manifest, phrase{verb: fmt.Sprintf("approve the plans of %d parts of", n)})
	}
	if c.restored {
		b.add(rankClusterOther, manifestPlace, manifest, phrase{verb: "restore the folder of"})
	}
	if len(c.Steps)+len(c.Rebound)+len(c.Released) == 0 && len(c.Parts) > 0 && !c.restored {
		verb := "change " + text.Count(len(c.Parts), "part") + " of"
		if !slices.ContainsFunc(c.Parts, func(p ComponentChange) bool { return p.Change != ComponentCleared }) {
			verb = "remove " + text.Count(len(c.Parts), "destroyed part") + " of"
		}
		b.add(rankClusterOther, manifestPlace, manifest, phrase{verb: verb})
	}
}

func (b *clusterPhrases) addSteps(manifest, cluster string, steps []provision.Step) {
	i := slices.IndexFunc(steps, func(s provision.Step) bool { return slices.Contains(wholeClusters, s.Kind) })
	if i >= 0 {
		steps = steps[i : i+1]
	}
	b.addPools(cluster, steps)
	isMoved := slices.ContainsFunc(steps, func(s provision.Step) bool { return s.Kind == provision.DetachClusterType && findType(s).New != "" })
	for _, s := range steps {
		verb, named := clusterVerbs[s.Kind]
		if s.IsDowngrade() {
			verb.words = "downgrade Kubernetes of"
		}
		switch {
		case !named, isMoved && s.Kind == provision.AttachClusterType:
			continue
		case isMoved && s.Kind == provision.DetachClusterType:
			types := findType(s)
			b.add(rankClusterDeletes, clusterPlace, cluster, phrase{verb: "REPLACE cluster type %s with %s of", names: []string{types.Old, types.New}, deletes: true})
			continue
		}
		rank := rankClusterOther
		switch {
		case s.Kind == provision.DestroyCluster:
			rank = rankClusterDestroyed
		case verb.deletes:
			rank = rankClusterDeletes
		case s.Disruption == provision.Outage:
			rank = rankClusterOutage
		case s.Disruption == provision.Rolling:
			rank = rankClusterRolling
		}
		p := phrase{verb: verb.words, deletes: verb.deletes, note: noteDisruption(s.Disruption)}
		if verb.deletes { // capitals already warn
			p.note = ""
		}
		if strings.Contains(verb.words, "%s") {
			p.names = []string{nameSubject(s)}
		}
		if cluster == "" {
			b.add(rank, manifestPlace, manifest, p)
		} else {
			b.add(rank, clusterPlace, cluster, p)
		}
	}
}

// addPools pairs added with removed pools of the same role as replacements.
func (b *clusterPhrases) addPools(cluster string, steps []provision.Step) {
	pools := sortPools(steps)
	for _, role := range slices.Sorted(maps.Keys(pools)) {
		p := pools[role]
		note, rank := noteDisruption(p.disruption), rankClusterRolling
		if p.disruption == provision.Outage {
			rank = rankClusterOutage
		}
		switch {
		case len(p.removed) > 0 && len(p.added) > 0:
			b.add(rank, clusterPlace, cluster, phrase{
				verb: "replace " + poolWords(p.removed) + " with " + formatSlots(p.added) + " of", names: slices.Concat(p.removed, p.added), note: note,
			})
		case len(p.removed) > 0:
			b.add(rankClusterDeletes, clusterPlace, cluster, phrase{verb: "REMOVE " + poolWords(p.removed) + " of", names: p.removed, deletes: true, note: note})
		case len(p.added) > 0:
			b.add(rankClusterOther, clusterPlace, cluster, phrase{verb: "add " + poolWords(p.added) + " to", names: p.added})
		}
		if len(p.rolled) > 0 {
			b.add(rank, clusterPlace, cluster, phrase{verb: "replace the nodes of " + poolWords(p.rolled) + " of", names: p.rolled, note: note})
		}
		if len(p.reduced) > 0 {
			b.add(rank, clusterPlace, cluster, phrase{verb: "remove nodes of " + poolWords(p.reduced) + " of", names: p.reduced, note: note})
		}
		if len(p.enlarged) > 0 {
			b.add(rankClusterOther, clusterPlace, cluster, phrase{verb: "add nodes to " + poolWords(p.enlarged) + " of", names: p.enlarged})
		}
	}
}

type poolChanges struct {
	added, removed, rolled, enlarged, reduced []string
	disruption                                provision.Disruption // the worst of the steps that remove nodes
}

func sortPools(steps []provision.Step) map[string]*poolChanges {
	pools := map[string]*poolChanges{}
	for _, s := range steps {
		removes := s.Kind == provision.RemoveNodes || s.Kind == provision.DestroyNodes
		if s.Kind != provision.AddNodes && s.Kind != provision.ReplaceNodes && !removes {
			continue
		}
		role := s.Subject.PoolRole + s.Subject.LoadBalancer
		if pools[role] == nil {
			pools[role] = &poolChanges{disruption: provision.NoDisruption}
		}
		p := pools[role]
		if s.Disruption == provision.Outage || p.disruption == provision.NoDisruption {
			p.disruption = s.Disruption
		}
		isWhole := len(s.Reason) > 1 // the reason has the list of pools too
		into := &p.enlarged
		switch {
		case s.Subject.Old || s.Subject.New, s.Kind == provision.ReplaceNodes:
			into = &p.rolled
		case s.Kind == provision.AddNodes && isWhole:
			into = &p.added
		case removes && isWhole:
			into = &p.removed
		case removes:
			into = &p.reduced
		}
		if !slices.Contains(*into, s.Subject.Pool) {
			*into = append(*into, s.Subject.Pool)
		}
	}
	return pools
}

func poolWords(names []string) string {
	if len(names) == 1 {
		return "pool %s"
	}
	return "pools " + formatSlots(names)
}

func formatSlots(names []string) string {
	return text.Join(list.Convert(names, func(string) string { return "%s" }), " and ")
}

func nameSubject(s provision.Step) string {
	switch {
	case s.Kind == provision.AttachClusterType || s.Kind == provision.DetachClusterType:
		return cmp.Or(findType(s).Old, findType(s).New)
	case s.Subject.Pool != "":
		return s.Subject.Pool
	case s.Subject.Role != "":
		return s.Subject.Role
	case s.Subject.LoadBalancer != "":
		return s.Subject.LoadBalancer
	}
	return s.Subject.Provider
}

func findType(s provision.Step) provision.Change {
	i := slices.IndexFunc(s.Reason, func(c provision.Change) bool { return c.Field == "clusterType" })
	if i < 0 {
		return provision.Change{}
	}
	return s.Reason[i]
}

func noteDisruption(d provision.Disruption) string {
	if d == provision.NoDisruption {
		return ""
	}
	return " (" + string(d) + ")"
}

func (b *clusterPhrases) add(rank int, place, name string, p phrase) {
	key := strings.Join(append([]string{place, p.verb, p.note}, p.names...), "\x00")
	if b.known[key] == nil {
		p.form, p.scope = clustersChange, newScope(place, "")
		b.known[key] = &p
		b.all, b.ranks[&p] = append(b.all, &p), rank
	}
	b.known[key].scope.clusterTypes[name] = true
}

func (p phrase) describeClusters(brevity int, isTerse bool, show func(string) string) string {
	said := p
	switch n := len(p.shorter); {
	case n == 0 && isTerse:
		said.note = ""
	case n > 0 && isTerse:
		said = p.shorter[n-1]
	case n > 0 && brevity >= namesOne:
		said = p.shorter[0]
	}
	names := list.Convert(said.names, func(name string) any { return show(name) })
	places := p.scope.countedTypes(brevity, show)
	if p.scope.place == stackPlace {
		places = p.scope.describeTypes(brevity, show)
	}
	return fmt.Sprintf(said.verb, names...) + " " + places + said.note
}
