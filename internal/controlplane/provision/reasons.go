package provision

import "cmp"

// placeOf explains the position of steps in a plan.
var placeOf = map[Kind]string{
	CreateNetwork:      "machines are made in a network",
	CreatePool:         "the machines are there before Kubernetes is installed on them",
	CreateLB:           "a load balancer is made of machines",
	CreateDNS:          "the records have the addresses of the load balancer",
	Bootstrap:          "Kubernetes needs its nodes, and the name under which its API server answers",
	PublishKubeconfig:  "there is a kubeconfig once Kubernetes runs",
	AttachClusterType:  "Flux reaches the cluster by its kubeconfig",
	DetachClusterType:  "what runs on the cluster is removed while the cluster answers",
	DestroyCluster:     "nothing is applied to the cluster any more",
	DropKubeconfig:     "the kubeconfig is needed until the cluster is destroyed",
	MoveAPIEndpoint:    "the endpoint moves to what is there and answers, before anything that it leaves is removed",
	Open6443:           "the control nodes answer before the load balancer is left",
	Close6443:          "the load balancer answers before the control nodes stop to",
	TransferAPINode:    "the endpoint moves before the node that has it is removed",
	ReplaceDNS:         "it does not wait for nodes",
	AddNodes:           "capacity is added before anything uses it, and before other nodes are removed",
	RemoveNodes:        "nodes go after others have taken their place, and after no role forwards to them",
	ReplaceNodes:       "a new control node is there before each one that goes",
	DestroyNodes:       "what needed the machines does without them; nothing drains nodes first, unless the module does",
	DestroyNetwork:     "no machines are in the network any more",
	JoinLB:             "the pools that its roles forward to are there",
	DeleteLB:           "the API endpoint and the roles have moved to others",
	AddRole:            "the pools that it forwards to are there",
	DeleteRole:         "all roles are added before any is deleted",
	RetargetLB:         "the new pools are there, and the old ones are not removed yet",
	ChangeRoleInternal: "roles that stay are changed when no nodes are added or removed any more",
	ChangeRoleExternal: "roles that stay are changed when no nodes are added or removed any more",
	UpgradeKubernetes:  "Kubernetes is upgraded when no nodes are added or removed any more",
	ChangeProxy:        "all nodes are changed when none is added or removed any more",
	PatchNodes:         "all nodes are changed when none is added or removed any more",
	ToAutoscaled:       "pools are scaled when no nodes are added or removed any more",
	ToFixed:            "pools are scaled when no nodes are added or removed any more",
	SetAutoscaler:      "pools are scaled when no nodes are added or removed any more",
	RotateCredentials:  "everything after it uses the credentials",
	DropProvider:       "a provider is needed until all that it made is removed",
	DropCredentials:    "credentials are needed until the provider is dropped",
	DropObjects:        "the objects are needed until what they made is destroyed",
}

const (
	capiAtOnce     = "Cluster API begins with all steps of a change at once"
	tofuModule     = "the module does it before anything is removed: the plan of Terraform says whether it replaces machines"
	tofuBootstrap  = "the module of the bootstrap does it before anything is removed"
	tofuBeforeGone = "roles that stay are changed before anything is removed"
)

var placesOf = map[string]map[Kind]string{
	capiExecutor: {
		CreatePool:        "control nodes come first, and compute nodes join a cluster that answers",
		Bootstrap:         "Kubernetes is installed on the control nodes",
		AddNodes:          capiAtOnce,
		RemoveNodes:       capiAtOnce + ", and drains nodes: those of a pool that goes all together, whether or not others have taken their place",
		UpgradeKubernetes: capiAtOnce + ", and replaces the nodes of each pool one by one",
		PatchNodes:        capiAtOnce + ", and replaces nodes one by one for other labels and taints",
		ToAutoscaled:      capiAtOnce, ToFixed: capiAtOnce, SetAutoscaler: capiAtOnce,
	},
	tofuExecutor: {
		CreatePool:        "control nodes come first, and compute nodes join a cluster that answers",
		Bootstrap:         "Kubernetes is installed on the control nodes, and needs the name under which its API server answers",
		CreateLB:          "the nodes that it forwards to are there",
		AddNodes:          "what is needed is added first; compute nodes join after the control nodes",
		RemoveNodes:       "others have taken their place; nothing drains nodes first, unless the module does",
		TransferAPINode:   "the module of the bootstrap chooses the node that answers, before any is removed",
		UpgradeKubernetes: tofuBootstrap, ChangeProxy: tofuBootstrap,
		PatchNodes: tofuModule, ToAutoscaled: tofuModule, ToFixed: tofuModule, SetAutoscaler: tofuModule,
		ChangeRoleInternal: tofuBeforeGone, ChangeRoleExternal: tofuBeforeGone,
	},
}

// Place explains the position of the step in a plan, as a clause.
func (s Step) Place() string { return cmp.Or(placesOf[s.Executor][s.Kind], placeOf[s.Kind]) }
