package provision

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// Kind is the kind of a step.
type Kind string

// The kinds of steps.
const (
	// Of one cluster.
	CreateNetwork      Kind = "create-network"
	CreatePool         Kind = "create-pool"
	CreateLB           Kind = "create-lb"
	CreateDNS          Kind = "create-dns"
	Bootstrap          Kind = "bootstrap"
	PublishKubeconfig  Kind = "publish-kubeconfig"
	AttachClusterType  Kind = "attach-cluster-type"
	DetachClusterType  Kind = "detach-cluster-type"
	DropKubeconfig     Kind = "drop-kubeconfig"
	DestroyCluster     Kind = "destroy-cluster"
	MoveAPIEndpoint    Kind = "move-api-endpoint"
	Open6443           Kind = "open-6443"
	Close6443          Kind = "close-6443"
	TransferAPINode    Kind = "transfer-api-endpoint"
	ReplaceDNS         Kind = "replace-dns"
	AddNodes           Kind = "add-nodes"
	RemoveNodes        Kind = "remove-nodes"
	ReplaceNodes       Kind = "replace-nodes"   // Cluster API: nodes of a control plane
	DestroyNodes       Kind = "destroy-nodes"   // tofu-controller, without draining
	DestroyNetwork     Kind = "destroy-network" // tofu-controller
	JoinLB             Kind = "join-lb"
	DeleteLB           Kind = "delete-lb"
	AddRole            Kind = "add-role"
	DeleteRole         Kind = "delete-role"
	RetargetLB         Kind = "retarget-lb"
	ChangeRoleInternal Kind = "role-internal"
	ChangeRoleExternal Kind = "role-external"
	UpgradeKubernetes  Kind = "upgrade-k8s"
	ChangeProxy        Kind = "proxy"
	PatchNodes         Kind = "patch-nodes"
	ToAutoscaled       Kind = "to-autoscaled"
	ToFixed            Kind = "to-fixed"
	SetAutoscaler      Kind = "set-autoscaler"
	// Of the whole manifest.
	RotateCredentials Kind = "rotate-credentials"
	DropProvider      Kind = "drop-provider"
	DropCredentials   Kind = "drop-credentials"
	DropObjects       Kind = "drop-objects"
)

// Disruption is the effect of a step on users of a cluster.
type Disruption string

// The disruptions.
const (
	NoDisruption Disruption = "none"
	Rolling      Disruption = "rolling" // nodes are drained or restarted one by one
	Outage       Disruption = "outage"  // something stops answering, for a time or forever
)

// Phase is the part of a change that a step belongs to.
type Phase string

// The phases, in order.
const (
	Expand   Phase = "expand"
	Switch   Phase = "switch"
	Contract Phase = "contract"
)

type traits struct {
	phase      Phase
	disruption Disruption
	final      bool // it can only be retried
	sentence   string
}

var traitsOf = map[Kind]traits{
	CreateNetwork:      {Expand, NoDisruption, false, "create the network of"},
	CreatePool:         {Expand, NoDisruption, false, "create the machines of"},
	CreateLB:           {Expand, NoDisruption, false, "create"},
	CreateDNS:          {Expand, NoDisruption, false, "create the DNS records of"},
	Bootstrap:          {Expand, NoDisruption, false, "install Kubernetes"},
	PublishKubeconfig:  {Expand, NoDisruption, false, "publish the kubeconfig"},
	AttachClusterType:  {Switch, NoDisruption, false, "attach the cluster type"},
	DetachClusterType:  {Contract, Outage, false, "detach the cluster type"},
	DropKubeconfig:     {Contract, NoDisruption, true, "drop the kubeconfig"},
	DestroyCluster:     {Contract, Outage, true, "destroy the cluster"},
	MoveAPIEndpoint:    {Switch, Outage, true, "move the API endpoint to"},
	Open6443:           {Expand, NoDisruption, false, "open port 6443 on the control nodes"},
	Close6443:          {Contract, NoDisruption, false, "close port 6443 on the control nodes"},
	TransferAPINode:    {Switch, Outage, true, "transfer the API endpoint to"},
	ReplaceDNS:         {Switch, Outage, false, "replace the DNS records of"},
	AddNodes:           {Expand, NoDisruption, false, "add nodes to"},
	RemoveNodes:        {Contract, Rolling, true, "drain and remove nodes of"},
	ReplaceNodes:       {Switch, Rolling, false, "replace the control nodes by those of"},
	DestroyNodes:       {Contract, Outage, true, "destroy machines of"},
	DestroyNetwork:     {Contract, NoDisruption, true, "destroy the network of"},
	JoinLB:             {Expand, NoDisruption, false, "create and join"},
	DeleteLB:           {Contract, Outage, true, "delete"},
	AddRole:            {Expand, NoDisruption, false, "add"},
	DeleteRole:         {Contract, Outage, true, "delete"},
	RetargetLB:         {Switch, NoDisruption, false, "change the target pools of"},
	ChangeRoleInternal: {Switch, Rolling, false, "change the target port or the settings of"},
	ChangeRoleExternal: {Switch, Outage, false, "change the port or the protocol of"},
	UpgradeKubernetes:  {Switch, Rolling, true, "upgrade Kubernetes"},
	ChangeProxy:        {Switch, Rolling, false, "change the installation proxy"},
	PatchNodes:         {Switch, NoDisruption, false, "change labels, annotations and taints of nodes"},
	ToAutoscaled:       {Switch, NoDisruption, false, "let the autoscaler scale"},
	ToFixed:            {Switch, NoDisruption, false, "fix the number of nodes of"},
	SetAutoscaler:      {Switch, NoDisruption, false, "change the bounds of the autoscaler of"},
	RotateCredentials:  {Switch, NoDisruption, false, "use other credentials for"},
	DropProvider:       {Contract, NoDisruption, false, "drop"},
	DropCredentials:    {Contract, NoDisruption, true, "drop the credentials of"},
	DropObjects:        {Contract, NoDisruption, true, "remove the objects of what was destroyed"},
}

var sentencesOf = map[string]map[Kind]string{
	tofuExecutor: {CreateLB: "configure", RemoveNodes: "remove nodes of"},
}

// IsDowngrade reports whether the step downgrades Kubernetes, which is refused.
func (s Step) IsDowngrade() bool {
	return s.Kind == UpgradeKubernetes && slices.ContainsFunc(s.Reason, func(c Change) bool { return isOlder(c.New, c.Old) })
}

// Sentence returns the step in the imperative.
func (s Step) Sentence() string {
	if s.IsDowngrade() {
		return "downgrade Kubernetes"
	}
	sentence := cmp.Or(sentencesOf[s.Executor][s.Kind], traitsOf[s.Kind].sentence)
	if subject := s.Subject.String(); subject != "" {
		sentence += " " + subject
	} else {
		sentence = strings.TrimSuffix(sentence, " of")
	}
	switch {
	case s.MayRemove > 0 && s.Executor == tofuExecutor:
		return sentence + ", which may destroy up to " + text.Count(s.MayRemove, "machine")
	case s.MayRemove > 0:
		return sentence + ", which may drain up to " + text.Count(s.MayRemove, "node")
	}
	return sentence
}

func newStep(kind Kind, cluster string, subject Subject, reason ...Change) Step {
	t := traitsOf[kind]
	id := string(kind) + subject.id()
	if cluster != "" {
		id = cluster + "/" + id
	}
	return Step{ID: id, Kind: kind, Cluster: cluster, Subject: subject, Reason: reason,
		Phase: t.phase, Disruption: t.disruption, Reversible: !t.final}
}
