package config

import (
	"time"

	"github.com/robfig/cron/v3"

	"github.com/fairlead-io/fairlead/internal/base/cost"
)

// Settings is the settings file with defaults. The yaml tag is a field's key; the required tag is
// an example of a required value; empty:"true" permits "".
type Settings struct {
	ControlPlane ControlPlane `yaml:"controlPlane" required:"controlPlane: {repo: https://git.example.com/team/control-plane}"`
	// Environments are the only ones to process; nil selects all.
	Environments []string `yaml:"environments"`
	Write        bool     `yaml:"write"`
	DataDir      string   `yaml:"dataDir"`
	// Listen is the host:port of the HTTP server; "" for none.
	Listen string `yaml:"listen" empty:"true"`
	// Hosts are names of the page, in addition to local and cluster names.
	Hosts    []string `yaml:"hosts"`
	Schedule Schedule `yaml:"schedule"`
	// OverdueAfter is the time without a finished cycle until an environment is overdue.
	OverdueAfter time.Duration `yaml:"overdueAfter"`
	Timeout      time.Duration `yaml:"timeout"`
	// RenderTimeout bounds rendering one environment, without reading its sources.
	RenderTimeout time.Duration `yaml:"renderTimeout"`
	// Parallel is the number of environments processed at a time, 1 to 64.
	Parallel int    `yaml:"parallel"`
	Output   Output `yaml:"output"`
	// Promotion is "managed", or "external": others decide which base commit an environment has.
	Promotion string `yaml:"promotion"`
	// MissingValues is "refuse", or "publish": a missing value shows as "<no value>", as in
	// Kalypso.
	MissingValues string `yaml:"missingValues"`
	// NextEnvironment maps an environment to the next one, as Kalypso's NEXT_ENVIRONMENT, without a
	// Promotion.
	NextEnvironment map[string]string `yaml:"nextEnvironment"`
	// Verify is the percentage of renderings that are repeated and compared, as in "1%".
	Verify string `yaml:"verify"`
	// Merge is by environment: "manual" (default), "when-green" or "direct".
	Merge   map[string]string `yaml:"merge"`
	Network Network           `yaml:"network"`
	Remotes []Remote          `yaml:"remotes"`
	Forges  []Forge           `yaml:"forges"`
	// Map redirects reads of repositories from their URL to another URL or an absolute path.
	Map map[string]string `yaml:"map"`
	// Signing is nil for unsigned commits.
	Signing        *Signing       `yaml:"signing"`
	TrustedSigners TrustedSigners `yaml:"trustedSigners"`
	Author         Author         `yaml:"author"`
	Webhooks       Webhooks       `yaml:"webhooks"`
	Ledger         Ledger         `yaml:"ledger"`
	Replicas       *Replicas      `yaml:"replicas"` // nil for one daemon
	Web            Web            `yaml:"web"`
	Probes         []Probe        `yaml:"probes"`
	Costs          Costs          `yaml:"costs"`
	Feeds          Feeds          `yaml:"feeds"`
	Schedulers     []Scheduler    `yaml:"schedulers"`
	Scheduling     Scheduling     `yaml:"scheduling"`
	Inventories    []Inventory    `yaml:"inventories"`
	Log            Log            `yaml:"log"`
}

// ControlPlane is the repository that people edit.
type ControlPlane struct {
	Repo   string `yaml:"repo" required:"repo: https://git.example.com/team/control-plane"`
	Branch string `yaml:"branch"`
}

// Schedule is the time between polls: see [Settings.NextPoll].
type Schedule struct {
	// Interval is 0 with Cron.
	Interval time.Duration `yaml:"interval"`
	Cron     string        `yaml:"cron"`
	Jitter   time.Duration `yaml:"jitter"`

	cron cron.Schedule // parsed Cron
}

// Output configures the repositories of rendered files.
type Output struct {
	Create       bool   `yaml:"create"`
	BranchPrefix string `yaml:"branchPrefix"`
	// VerifiedCommits makes the forge create and sign commits, with a GitHub App.
	VerifiedCommits bool `yaml:"verifiedCommits"`
	// Retired is for the output of an environment that was removed or moved: "remove" proposes its
	// removal, which only people merge; "keep" keeps it.
	Retired string `yaml:"retired"`
	// Allow are destinations of output; nil allows all except the control plane's repositories.
	Allow []Destination `yaml:"allow"`
}

// Destination is an allowed destination of output.
type Destination struct {
	// Repo is a URL or absolute path, or a prefix of several.
	Repo string `yaml:"repo" required:"repo: https://git.example.com/team/gitops"`
	// Branches are patterns as in path.Match; nil allows all.
	Branches []string `yaml:"branches"`
}

// Network is what the control plane may name of this machine and its platform.
type Network struct {
	// Allow are hosts, optionally with port, and absolute folder paths.
	Allow []string `yaml:"allow"`
}

// Remote is the credential for URLs that begin with URL: Token, GitHubApp or SSH.
type Remote struct {
	URL       string     `yaml:"url" required:"url: https://git.example.com/team/"`
	Token     *SecretRef `yaml:"token"`
	Username  string     `yaml:"username"`
	GitHubApp *GitHubApp `yaml:"githubApp"`
	SSH       *SSH       `yaml:"ssh"`
}

// GitHubApp is an installation of a GitHub App.
type GitHubApp struct {
	ID           int64     `yaml:"id" required:"id: 1234"`
	Installation int64     `yaml:"installation" required:"installation: 5678"`
	Key          SecretRef `yaml:"key" required:"key: {file: app.pem}"`
	// API is the URL of the API, without a final slash.
	API string `yaml:"api"`
}

// SSH is a login key and the trusted host keys.
type SSH struct {
	Key        SecretRef  `yaml:"key" required:"key: {file: id_ed25519}"`
	Passphrase *SecretRef `yaml:"passphrase"`
	// KnownHosts is an absolute path; "" for the default files.
	KnownHosts string `yaml:"knownHosts"`
}

// Forge is the kind of forge at a host.
type Forge struct {
	Host string `yaml:"host" required:"host: git.example.com"`
	// Kind is "git", "github", "gitlab" or "gitea" (also Forgejo).
	Kind string `yaml:"kind" required:"kind: git"`
	// API is the URL of the API; "" for none, or for the default of Host.
	API string `yaml:"api"`
}

// Signing is the key that signs commits; one field is set.
type Signing struct {
	SSH *SigningKey `yaml:"ssh"`
	GPG *SigningKey `yaml:"gpg"`
}

// SigningKey is a private key in OpenSSH's format, or an armored OpenPGP key.
type SigningKey struct {
	Key        SecretRef  `yaml:"key" required:"key: {file: signing_key}"`
	Passphrase *SecretRef `yaml:"passphrase"`
}

// TrustedSigners are absolute paths of public keys, or "".
type TrustedSigners struct {
	SSH string `yaml:"ssh"`
	GPG string `yaml:"gpg"`
}

// Author is the author and committer of commits.
type Author struct {
	Name  string `yaml:"name"`
	Email string `yaml:"email"`
}

// Webhooks has the secrets of senders. nil disables a webhook.
type Webhooks struct {
	GitHub *Webhook `yaml:"github"`
	GitLab *Webhook `yaml:"gitlab"`
	// Gitea is also for Forgejo.
	Gitea *Webhook `yaml:"gitea"`
	Flux  *Webhook `yaml:"flux"`
}

// Webhook configures the webhooks of one kind of sender.
type Webhook struct {
	Secret SecretRef `yaml:"secret" required:"secret: {file: webhook-secret}"`
	// Previous is also accepted, during rotation; nil for none.
	Previous *SecretRef `yaml:"previous"`
}

// Ledger has the secrets from which clusters' keys derive.
type Ledger struct {
	// Secret is nil if clusters have no keys.
	Secret *SecretRef `yaml:"secret"`
	// Previous is also accepted, during rotation; nil for none.
	Previous *SecretRef `yaml:"previous"`
	// Postgres is the database; nil for a file in the data folder.
	Postgres *Postgres `yaml:"postgres"`
	Keep     Keep      `yaml:"keep"`
	// Retire is how long a silent cluster is still expected.
	Retire time.Duration `yaml:"retire"`
}

// Keep is how long the ledger keeps history.
type Keep struct {
	// Spans is for ended states of objects.
	Spans time.Duration `yaml:"spans"`
	// Arrivals is for clusters' replaced outputs.
	Arrivals time.Duration `yaml:"arrivals"`
	// Days is for daily sums of both.
	Days time.Duration `yaml:"days"`
}

// Postgres is a PostgreSQL database.
type Postgres struct {
	URL SecretRef `yaml:"url" required:"url: {env: LEDGER_POSTGRES}"`
}

// Probe is a URL prefix that gates may request.
type Probe struct {
	URL   string     `yaml:"url" required:"url: https://metrics.example.com/"`
	Token *SecretRef `yaml:"token"`
}

// Feeds are what may be asked for versions of applications.
type Feeds struct {
	// Allow are hosts with registries or repositories of charts, each with the beginning of a path if not all of it is allowed.
	Allow []string      `yaml:"allow"`
	Every time.Duration `yaml:"every"`
}

// Costs are what is read and allowed of the costs of plans.
type Costs struct {
	// Expression reads the costs that come with plans; "" for the output of Infracost.
	Expression string `yaml:"expression"`
	// Limit is part of the proof of each environment; nil for none.
	Limit *cost.Limit `yaml:"limit"`

	compiled *cost.Expression // nil for ""
}

// Reader returns the compiled expression; nil for none.
func (c Costs) Reader() *cost.Expression { return c.compiled }

// Log is the format and level of the log.
type Log struct {
	// Format is "text" or "json".
	Format string `yaml:"format"`
	// Level is "info" or "debug".
	Level string `yaml:"level"`
}

// defaultSettings omits defaults that depend on other keys or the environment; the checks fill them
// in.
func defaultSettings() *Settings {
	return &Settings{
		ControlPlane:  ControlPlane{Branch: "main"},
		Listen:        "127.0.0.1:8080",
		Timeout:       2 * time.Minute,
		RenderTimeout: 2 * time.Minute,
		Parallel:      4,
		Output:        Output{BranchPrefix: "fairlead/", Retired: "remove"},
		Promotion:     "managed",
		MissingValues: "refuse",
		Verify:        "1%",
		Author:        Author{Name: "Fairlead", Email: "fairlead@localhost"},
		Ledger:        Ledger{Keep: Keep{Spans: 90 * day, Arrivals: 30 * day, Days: 400 * day}, Retire: 7 * day},
		Web:           Web{Read: ReadEverybody, Session: WebSession{Idle: 8 * time.Hour, Life: 24 * time.Hour}},
		Log:           Log{Format: "text", Level: "info"},
	}
}
