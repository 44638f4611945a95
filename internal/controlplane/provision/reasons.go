package provision

// placeOf is why a step of a kind is where it is in a plan.
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

// Place returns why the step is where it is in a plan, as a clause.
func (s Step) Place() string { return placeOf[s.Kind] }
