package model

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// stackAPIVersions are those that CloudKnit's kinds have had: its group was renamed, its command
// line has the older version, and one page of its documentation has another domain.
var stackAPIVersions = []string{
	"stable.cloudknit.io/v1", "stable.cloudknit.io/v1alpha1", "stable.compuzest.com/v1", "stable.compuzest.com/v1alpha1", "stable.cloudknit.com/v1",
}

// stackSchemas are the names of the schemas of CloudKnit's kinds.
var stackSchemas = map[string]string{"Environment": "Stack", "Team": "Team", "Company": "Company"}

// StackAPIVersions returns the apiVersions of CloudKnit's kinds, the newest first.
func StackAPIVersions() []string { return slices.Clone(stackAPIVersions) }

func isStackGroup(group string) bool {
	return slices.ContainsFunc(stackAPIVersions, func(v string) bool { return strings.HasPrefix(v, group+"/") })
}

func isStackObject(group, kind string, n *yaml.Node) bool {
	return isStackGroup(group) || isMeantForStack(group, kind, n)
}

// isMeantForStack reports whether an object of a group that is not CloudKnit's must have been meant to be: if
// a mistyped group were somebody else's, the stack would have no file any more, and be destroyed.
func isMeantForStack(group, kind string, n *yaml.Node) bool {
	if stackSchemas[kind] == "" || group == Group {
		return false
	}
	_, spec := yamldoc.LookUpPair(n, "spec")
	hasField := func(name string) bool {
		if spec == nil || spec.Kind != yaml.MappingNode {
			return false
		}
		_, v := yamldoc.LookUpPair(spec, name)
		return v != nil
	}
	return isNearStackGroup(group) ||
		kind == "Environment" && hasField("teamName") && hasField("envName")
}

// Text is a text with the line on which it begins.
type Text = locatedText

// Stack is an environment as CloudKnit writes it: components of which each may need others. The
// word environment has another meaning here.
type Stack struct {
	Object
	Namespace string
	StackSpec
	// Stopped is true if the object has problems: some of it may be missing.
	Stopped bool
	// Blueprint is the stack of the base that this one is merged over; nil if it is all written here.
	Blueprint *Blueprint

	spec    *yaml.Node   // as it is written here, without aliases
	missing problem.List // what is required, and may be in a blueprint
}

// Path identifies the stack among all stacks, as "team/environment".
func (s *Stack) Path() string { return s.TeamName.Text + "/" + s.EnvName.Text }

// PositionAt returns the position of a line of the stack's file. The lines of its blueprint are negative: they
// are complements of the numbers there.
func (s *Stack) PositionAt(line int) problem.Pos {
	if s.isOfBlueprint(line) {
		return problem.Pos{Layer: s.Blueprint.Pos.Layer, File: s.Blueprint.Pos.File, Line: ^line}
	}
	return problem.Pos{Layer: s.Pos.Layer, File: s.Pos.File, Line: line}
}

// LayerAt returns the name of the layer that has a line of the stack: its own, or that of its blueprint.
func (s *Stack) LayerAt(line int) string { return s.PositionAt(line).Layer }

// IsWrittenIn reports whether a position is in the file of the stack, or in that of its blueprint.
func (s *Stack) IsWrittenIn(pos problem.Pos) bool {
	isIn := func(p problem.Pos) bool { return pos.Layer == p.Layer && pos.File == p.File }
	return isIn(s.Pos) || s.Blueprint != nil && isIn(s.Blueprint.Pos)
}

func (s *Stack) isOfBlueprint(line int) bool { return line < 0 && s.Blueprint != nil }

// StackSpec is the spec of CloudKnit's Environment. It is a superset of the schema of its custom
// resource: what its README writes instead has fields too.
type StackSpec struct {
	TeamName           Text              `yaml:"teamName" required:"whole"`
	EnvName            Text              `yaml:"envName" required:"whole"`
	Description        string            `yaml:"description"`
	AutoApprove        bool              `yaml:"autoApprove"`
	Teardown           bool              `yaml:"teardown"`
	Workspace          string            `yaml:"workspace"`
	Zlocals            []StackLocal      `yaml:"zlocals"`
	SelectiveReconcile *SelectiveSpec    `yaml:"selectiveReconcile"`
	Components         []*StackComponent `yaml:"components" required:"whole"`
}

// StackLocal is a name that stands for a text: ${zlocals.name}.
type StackLocal struct {
	Name  Text   `yaml:"name" required:"true"`
	Value string `yaml:"value" required:"whole"`
	Type  string `yaml:"type"`
}

// SelectiveSpec selects the components that a run concerns, by their tags.
type SelectiveSpec struct {
	SkipMode  bool     `yaml:"skipMode"`
	TagName   Text     `yaml:"tagName" required:"true"`
	TagValues []string `yaml:"tagValues" required:"true"`
}

// StackComponent is one part of a stack.
type StackComponent struct {
	Name              Text            `yaml:"name" required:"true"`
	Type              Text            `yaml:"type" required:"whole"`
	Subtype           Text            `yaml:"subtype"`
	Module            *StackModule    `yaml:"module"`
	Source            *ChartSource    `yaml:"source"`
	DependsOn         []Text          `yaml:"dependsOn"`
	Tags              []StackTag      `yaml:"tags"`
	CronSchedule      Text            `yaml:"cronSchedule"`
	AWS               *AWSSpec        `yaml:"aws"`
	AutoApprove       *bool           `yaml:"autoApprove"`
	Destroy           *bool           `yaml:"destroy"`
	DestroyProtection bool            `yaml:"destroyProtection"`
	VariablesFile     *VariablesFile  `yaml:"variablesFile"`
	OverlayFiles      []OverlayFiles  `yaml:"overlayFiles"`
	OverlayData       []OverlayData   `yaml:"overlayData"`
	Variables         []StackVariable `yaml:"variables"`
	Secrets           []StackSecret   `yaml:"secrets"`
	Outputs           []StackOutput   `yaml:"outputs"`
}

// IsToBeDestroyed reports whether the component says destroy: true.
func (c *StackComponent) IsToBeDestroyed() bool { return c.Destroy != nil && *c.Destroy }

// StackModule is the Terraform module of a component.
type StackModule struct {
	Source  Text   `yaml:"source" required:"whole"`
	Name    string `yaml:"name"`
	Path    string `yaml:"path"`
	Version Text   `yaml:"version"`
}

// LocalFolder returns the folder of a module that is in a layer of the environment itself: in that which names it, or,
// where the source is "base", in the base. false is for a module in another repository.
func (m *StackModule) LocalFolder() (folder string, local bool) {
	source := strings.TrimSpace(m.Source.Text)
	switch {
	case m.IsOfBase():
		source = "."
	case source != "." && !strings.HasPrefix(source, "./"):
		return "", false
	}
	return path.Join(source, m.Path), true
}

// IsOfBase reports whether the source of the module is the base, whichever layer names it.
func (m *StackModule) IsOfBase() bool { return strings.TrimSpace(m.Source.Text) == BaseLayer }

// ChartSource is the chart of a Helm component, as CloudKnit's README writes it: a folder of a Git
// repository, or a chart of a chart repository.
type ChartSource struct {
	Repo    Text   `yaml:"repo" required:"whole"`
	Path    string `yaml:"path"`
	Ref     string `yaml:"ref"`
	Chart   string `yaml:"chart"`
	Version string `yaml:"version"`
}

// StackTag is a tag of a component.
type StackTag struct {
	Name  Text   `yaml:"name"`
	Value string `yaml:"value"`
}

// AWSSpec configures the AWS provider of a component.
type AWSSpec struct {
	Region     string      `yaml:"region" required:"whole"`
	AssumeRole *AssumeRole `yaml:"assumeRole"`
}

// AssumeRole is the role that the AWS provider of a component assumes.
type AssumeRole struct {
	RoleARN     string `yaml:"roleArn" required:"whole"`
	SessionName string `yaml:"sessionName"`
	ExternalID  string `yaml:"externalId"`
}

// VariablesFile is a file of variables. Without a source it is in the repository of the stack.
type VariablesFile struct {
	Source Text   `yaml:"source"`
	Path   Text   `yaml:"path" required:"whole"`
	Ref    string `yaml:"ref"`
}

// OverlayFiles are files that are put beside the generated ones, or in their place. Path is an
// older form of Paths.
type OverlayFiles struct {
	Source Text   `yaml:"source"`
	Paths  []Text `yaml:"paths"`
	Path   Text   `yaml:"path"`
	Ref    string `yaml:"ref"`
}

// OverlayData is one such file with its content.
type OverlayData struct {
	Name Text `yaml:"name" required:"true"`
	Data Text `yaml:"data" required:"whole"`
}

// StackVariable is an input of a component's module, or a value of its chart.
type StackVariable struct {
	Name      Text  `yaml:"name" required:"true"`
	Value     *Text `yaml:"value"`
	ValueFrom *Text `yaml:"valueFrom"`
}

// StackSecret is an input whose value is a parameter of AWS Systems Manager.
type StackSecret struct {
	Name  Text   `yaml:"name" required:"true"`
	Scope Text   `yaml:"scope" required:"whole"`
	Key   string `yaml:"key" required:"whole"`
}

// StackOutput is an output of a component's module that other components may use.
type StackOutput struct {
	Name      Text `yaml:"name" required:"true"`
	Sensitive bool `yaml:"sensitive"`
}

// Team is a team as CloudKnit writes it.
type Team struct {
	Object
	TeamSpec
	// InBase is true if it is written in the base, and so is in all environments.
	InBase bool
}

// TeamSpec is the spec of CloudKnit's Team.
type TeamSpec struct {
	TeamName           Text       `yaml:"teamName" required:"true"`
	ConfigRepo         configRepo `yaml:"configRepo" required:"true"`
	TeardownProtection bool       `yaml:"teardownProtection"`
	Permissions        []string   `yaml:"permissions"`
}

// Company is a tenant as CloudKnit writes it.
type Company struct {
	Object
	CompanySpec
}

// CompanySpec is the spec of CloudKnit's Company.
type CompanySpec struct {
	CompanyName Text       `yaml:"companyName" required:"true"`
	ConfigRepo  configRepo `yaml:"configRepo" required:"true"`
}

type configRepo struct {
	Source string `yaml:"source" required:"true"`
	Path   string `yaml:"path" required:"true"`
}

// StackAWS is the default of the AWS providers.
type StackAWS struct {
	Region        string `yaml:"region"`
	Version       string `yaml:"version"`
	SharedProfile string `yaml:"sharedProfile"`
}

// StackRunner is what the pods that run Terraform get their credentials from.
type StackRunner struct {
	Secret         string `yaml:"secret"`
	ServiceAccount string `yaml:"serviceAccount"`
	// WaitImage is an image whose entrypoint is kubectl: it waits until a chart is uninstalled.
	WaitImage string `yaml:"waitImage"`
}

// Stacks is what a model holds of stacks. Its lists are sorted by name.
type Stacks struct {
	List      []*Stack
	Teams     []*Team
	Companies []*Company
	Settings  []*StackSettings
	Approvals []*PlanApproval
	Requests  []*PlanRequest
	// Unread are those that are written where nothing can be read.
	Unread []UnreadStacks
	// Blueprints are the stacks of the base, with the components that they have themselves.
	Blueprints []*Stack
	blueprints []*stackBlueprint
	// Stopped are the problems of reading them that stop stacks, and not the environment: what has one, or
	// what it approves, is not rendered.
	Stopped problem.List
	// Layers are those of the environment by their names in positions: stacks, and manifests that modules
	// carry out, name files of them.
	Layers map[string]Layer
}

func (s *Stacks) add(o *Stacks) {
	s.List = append(s.List, o.List...)
	s.blueprints = append(s.blueprints, o.blueprints...)
	s.Teams = append(s.Teams, o.Teams...)
	s.Companies = append(s.Companies, o.Companies...)
	s.Settings = append(s.Settings, o.Settings...)
	s.Approvals = append(s.Approvals, o.Approvals...)
	s.Requests = append(s.Requests, o.Requests...)
	s.Unread = append(s.Unread, o.Unread...)
}

func (s *Stacks) addLayers(layers []Layer) {
	s.Layers = map[string]Layer{}
	for _, l := range layers {
		s.Layers[l.displayName()] = l
	}
}

func (r *reader) readStackKind(n *yaml.Node, h header, d *decoder) {
	d.subject, d.foreign = h.kind+"/"+nameOf(n), true
	s := &r.out.stacks
	switch {
	case r.layer.Kind == Workloads:
		r.ignoreObject(h, d, n, "is left out: the repository of a registration may bring Workloads and DeploymentTargets only")
	case isNearEnvironment(h.kind) && r.layer.Kind != Env && r.layer.Kind != TeamStacks:
		s.blueprints = append(s.blueprints, r.readBlueprint(n, h, d))
	case isNearEnvironment(h.kind):
		if read := r.readStack(n, h, d); read != nil {
			s.List = append(s.List, read)
		}
	case h.kind == "Team":
		s.Teams = append(s.Teams, r.readTeam(n, h, d))
	case !slices.Contains(stackAPIVersions, h.apiVersion):
		addVersionProblem(n, h, d)
	case h.kind == "Company":
		o, spec, _ := readObject[CompanySpec](r, n, h.kind, d)
		s.Companies = append(s.Companies, &Company{o, spec})
	case h.kind == "TerraformConfig":
		r.ignoreObject(h, d, n, "is not read: CloudKnit had no controller for it either")
	default:
		addKindProblem(n, h, d)
	}
}

// isNearEnvironment reports whether a kind is Environment, or that with a mistake: a stack must not count as
// deleted for it.
func isNearEnvironment(kind string) bool {
	return kind == "Environment" || problem.FindNearest(kind, []string{"Environment"}) != ""
}

func isWrittenAsStack(n *yaml.Node) bool {
	if n.Kind != yaml.MappingNode {
		return false
	}
	h := headerOf(n)
	if h.missingField() == "" || strings.HasSuffix(h.kind, "List") && h.items != nil {
		return true // what it is depends on its kind
	}
	_, spec := yamldoc.LookUpPair(n, "spec")
	if spec == nil || spec.Kind != yaml.MappingNode {
		return isNearEnvironment(h.kind)
	}
	_, team := yamldoc.LookUpPair(spec, "teamName")
	_, env := yamldoc.LookUpPair(spec, "envName")
	return team != nil || env != nil || isNearEnvironment(h.kind)
}

// confineToTeam has the problems of what a layer has at a position stop the stacks of that team, if it is the
// repository of one, and nothing else: only the team reviews it. None of its stacks counts as deleted then.
func (c *content) confineToTeam(l Layer, at problem.Pos) {
	if l.Kind != TeamStacks {
		return
	}
	u, confined := UnreadStacks{Team: strings.TrimPrefix(l.Name, TeamLayerPrefix), Pos: at}, false
	for i := range c.problems {
		if p := &c.problems[i]; !p.Warning && p.Stack == "" {
			p.Stack, confined = u.Name(), true
		}
	}
	if confined {
		c.stacks.Unread = append(c.stacks.Unread, u)
	}
}

// addUnreadLink notes a symbolic link in the repository of a team: a stack may be written behind it.
func (c *content) addUnreadLink(l Layer, file string) {
	if l.Kind == TeamStacks {
		at := problem.Pos{Layer: l.Name, File: path.Join(l.Prefix, file)}
		c.stacks.Unread = append(c.stacks.Unread, UnreadStacks{Team: strings.TrimPrefix(l.Name, TeamLayerPrefix), Pos: at})
	}
}

// addUnreadTeam notes the repository of a team that could not be read, or not all of it, and returns what that
// stops.
func (s *Stacks) addUnreadTeam(l Layer) problem.List {
	if l.Kind != TeamStacks || l.Unread == (Unread{}) {
		return nil
	}
	u := UnreadStacks{Team: strings.TrimPrefix(l.Name, TeamLayerPrefix), Pos: problem.Pos{Layer: l.Name}}
	s.Unread = append(s.Unread, u)
	return problem.List{{Pos: u.Pos, Summary: l.Unread.Summary, Hint: l.Unread.Hint, Stack: u.Name()}}
}

func addKindProblem(n *yaml.Node, h header, d *decoder) {
	kinds := []string{"Environment", "Team", "Company"}
	d.addProblem(n, problem.DidYouMean(h.kind, kinds), "kind %s is not known to CloudKnit: its kinds are Environment, Team and Company", h.kind)
}

// readStack reads a stack. Its problems stop the stack alone, if they leave no doubt of which it is. In the
// repository of a team one of another team is none: nil is returned.
func (r *reader) readStack(n *yaml.Node, h header, d *decoder) *Stack {
	before := len(*d.problems)
	if !slices.Contains(stackAPIVersions, h.apiVersion) {
		addVersionProblem(n, h, d)
	}
	if h.kind != "Environment" {
		addKindProblem(n, h, d)
	}
	var missing problem.List
	own := *d
	own.missing = &missing
	o, spec, meta := readObject[StackSpec](r, n, "Environment", &own)
	s := &Stack{Object: o, Namespace: meta.Namespace, StackSpec: spec, spec: d.unfoldedSpec(n), missing: missing}
	stops := s.stops()
	team, ofTeam := strings.CutPrefix(r.layer.Name, TeamLayerPrefix)
	isForeign := ofTeam && r.layer.Kind == TeamStacks && s.TeamName.Text != "" && s.TeamName.Text != team
	if isForeign {
		stops = s.unread().Name()
		d.problems.Addf(s.PositionAt(cmp.Or(s.TeamName.Line, o.Pos.Line)), d.subject, "move it to the repository of its team", "spec.teamName is %s, and this is the repository of the team %s", s.TeamName.Text, team)
	}
	found := (*d.problems)[before:]
	s.Stopped = found.Stops()
	if isForeign || s.TeamName.Text == "" || s.EnvName.Text == "" {
		r.out.stacks.Unread = append(r.out.stacks.Unread, s.unread())
	}
	*d.problems = append((*d.problems)[:before], found.StoppingStack(stops)...)
	if isForeign {
		return nil
	}
	return s
}

func addVersionProblem(n *yaml.Node, h header, d *decoder) {
	d.addProblem(n, cmp.Or(problem.DidYouMean(h.apiVersion, stackAPIVersions), "the newest is "+stackAPIVersions[0]), "apiVersion %s is not known; CloudKnit has %s", h.apiVersion, strings.Join(stackAPIVersions, ", "))
}
