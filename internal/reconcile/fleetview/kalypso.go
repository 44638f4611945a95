package fleetview

import (
	"context"
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// DeploymentState is the rollout progress of a commit, in the form of Kalypso's Observability Hub.
type DeploymentState struct {
	Total      int          `json:"total_subscribers"`
	Succeeded  int          `json:"total_succeeded_subscribers"`
	Failed     int          `json:"total_failed_subscribers"`
	InProgress int          `json:"total_in_progress_subscribers"`
	Succeeding []Subscriber `json:"succeeded_subscribers"`
	Failing    []Subscriber `json:"failed_subscribers"`
	Progress   []Subscriber `json:"in_progress_subscribers"`
}

// Subscriber is a cluster, or an object of one.
type Subscriber struct {
	Name    string `json:"name"`
	Message string `json:"status_message"`
}

func (d *DeploymentState) add(s Subscriber, succeeded, failed bool) {
	d.Total++
	switch {
	case succeeded:
		d.Succeeded++
		d.Succeeding = append(d.Succeeding, s)
	case failed:
		d.Failed++
		d.Failing = append(d.Failing, s)
	default:
		d.InProgress++
		d.Progress = append(d.Progress, s)
	}
}

// FindDeploymentState returns the rollout progress of a commit on an endpoint:
// repository/branch/folder of a cluster type, an environment or a workload.
func (v *View) FindDeploymentState(ctx context.Context, endpoint, commit string) (DeploymentState, error) {
	d := DeploymentState{Succeeding: []Subscriber{}, Failing: []Subscriber{}, Progress: []Subscriber{}}
	if endpoint == "" || len(endpoint) > maxParameter || ledger.ParseRevision(commit).Commit == "" {
		return d, &QueryError{"manifests_endpoint or commit_id cannot be read", `write them as {"manifests_endpoint": "https://git.example.com/gitops/prod/large", "commit_id": "<40 digits>"}`}
	}
	commit = ledger.ParseRevision(commit).Commit
	var places []ledgerdb.FleetPlace
	err := v.Ask(ctx, func(s *ledgerdb.Store) (err error) {
		places, err = s.FindPlaces(ctx)
		return err
	})
	wanted := cleanEndpoint(endpoint)
	objects := map[string]bool{}
	for _, p := range places {
		if err != nil {
			break
		}
		switch {
		case p.Object == "" && (joinEndpoint(p, p.ClusterType) == wanted || joinEndpoint(p, "") == wanted):
			err = v.addOutputState(ctx, p, commit, &d)
		case p.Object != "" && !objects[p.Object] && joinEndpoint(p, "") == wanted:
			objects[p.Object] = true
			err = v.addObjectState(ctx, p.Object, commit, &d)
		}
	}
	return d, err
}

func joinEndpoint(p ledgerdb.FleetPlace, clusterType string) string {
	return cleanEndpoint(p.Repo) + "/" + strings.TrimPrefix(path.Join("/", p.Branch, p.Folder, clusterType), "/")
}

func cleanEndpoint(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, rest = "", text
	}
	rest = strings.ReplaceAll(rest+"/", ".git/", "/")
	return strings.ToLower(scheme) + "://" + strings.TrimPrefix(path.Join("/", rest), "/")
}

func (v *View) addOutputState(ctx context.Context, p ledgerdb.FleetPlace, commit string, d *DeploymentState) error {
	revisions, types := v.Ledger.FindTargets(p.Environment)
	var wants ledgerdb.Wants
	err := v.Ask(ctx, func(s *ledgerdb.Store) (err error) {
		wants, err = s.FindWants(ctx, p.Environment, append(revisions, commit), types)
		return err
	})
	if err != nil {
		return err
	}
	output, known := wants.Outputs.Find(commit)
	for _, s := range v.Ledger.FindSituations(ledger.Wanted{Environment: p.Environment, Output: output}, &wants.Outputs) {
		if s.Type != p.ClusterType {
			continue
		}
		d.add(Subscriber{s.Cluster.Name(), s.Reason.Message}, known && s.Class == ledger.ClassReady, known && s.Class == ledger.ClassFailed)
	}
	return nil
}

func (v *View) addObjectState(ctx context.Context, object, commit string, d *DeploymentState) error {
	f := ledgerdb.FleetFilter{Limit: MaxItems}
	for {
		var spans []ledgerdb.FleetSpan
		err := v.Ask(ctx, func(s *ledgerdb.Store) (err error) {
			spans, err = s.FindStates(ctx, object, f)
			return err
		})
		if err != nil {
			return err
		}
		for _, s := range spans {
			concerned := ledger.ParseRevision(s.Target()).Commit == commit
			d.add(Subscriber{s.Cluster, s.Message}, concerned && s.Phase == ledger.Ready, concerned && s.Phase.IsFailure())
			f.After = s.Key
		}
		if len(spans) < f.Limit {
			return nil
		}
	}
}
