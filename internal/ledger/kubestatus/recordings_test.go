package kubestatus_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/testkit/recordings"
)

// replay gives a ledger what an agent would have read after each step of a recording, and returns the states of an
// object, each with the first digits of the commit: "waiting 92ad38", and " destroys" or " drift" for a plan of that kind.
// Neighbours that say the same are one, and states of less than a second are left out.
func replay(t *testing.T, r *recordings.Recording, object string, check func(s recordings.Step, got ledger.State)) []string {
	t.Helper()
	l := ledger.New(1000)
	type stated struct {
		text  string
		since time.Time
	}
	var all []stated
	r.Replay(0, func(s recordings.Step, q agentapi.Request) {
		l.Receive(q.Contact(q.Sent), q.Reports(0))
		id := l.FindCluster(q.Cluster).ID
		got, known := l.Find(ledger.Object{Cluster: id, Name: object})
		if !known {
			return
		}
		if check != nil {
			check(s, got)
		}
		text := describe(got)
		if n := len(all); n > 0 && s.Time.Sub(all[n-1].since) < time.Second {
			all = all[:n-1]
		}
		if n := len(all); n == 0 || all[n-1].text != text {
			all = append(all, stated{text, s.Time})
		}
	})
	var texts []string
	for _, one := range all {
		texts = append(texts, one.text)
	}
	return texts
}

// describe returns a state in a few words.
func describe(s ledger.State) string {
	text := s.Phase.String()
	if commit := ledger.ParseRevision(s.Target()).Commit; commit != "" {
		text += " " + commit[:6]
	}
	if s.Plan.Destroys {
		text += " destroys"
	}
	if s.Plan.Drift {
		text += " drift"
	}
	return text
}

// TestRecordings: what the ledger knows after each step of the recordings of the real controllers, by what an agent reads.
func TestRecordings(t *testing.T) {
	for _, c := range []struct{ recording, object, want string }{
		{"01-first-plan", "Terraform/s01/shop-dev-database", "progressing, waiting f7179b, ready f7179b"},
		{"02-change-manual", "Terraform/s02/shop-dev-database", "progressing, waiting 92ad38, ready 92ad38, progressing cca906, waiting cca906, ready cca906"},
		{"02b-change-manual-no-outputs-secret", "Terraform/s02b/shop-dev-database", "progressing, ready 8db96b, waiting 6d6be8, ready 6d6be8"},
		{"03-change-auto", "Terraform/s03/shop-dev-database", "ready b6a2ee, ready 5f71ee"},
		{"04-outputs-only", "Terraform/s04/shop-dev-database", "progressing, waiting a0f98f, progressing a0f98f, ready a0f98f, waiting edec25, progressing edec25, ready edec25, ready f4e161"},
		{"05-no-changes", "Terraform/s05/shop-dev-database", "progressing, waiting b87bfe, progressing b87bfe, ready b87bfe, progressing 21a7dc, ready 21a7dc, ready c34755, ready ad0057"},
		{"06-plan-fails", "Terraform/s06b/shop-dev-database", "failed, failed e3eec5, failed 80c7b5, ready 8e7c17, failed dabaf2"},
		{"07-apply-fails-auto", "Terraform/s07a/shop-dev-database", "failed c4bd09, ready c4bd09"},
		{"07-apply-fails-manual", "Terraform/s07m/shop-dev-database", "progressing, progressing 203f12, failed 203f12, progressing 16889f, ready 16889f"},
		{"08-drift", "Terraform/s08/shop-dev-database", "progressing, waiting dd9051, progressing dd9051, ready dd9051, drifted dd9051, waiting f0f0d6 drift, ready f0f0d6"},
		{"08b-drift-auto", "Terraform/s08b/shop-dev-database", "ready 2d51d9"},
		{"09-drift-while-plan-waits", "Terraform/s09/shop-dev-database", "progressing, progressing 478594, ready 478594, waiting d3cb4a, ready d3cb4a"},
		{"10a-destroy-manual", "Terraform/s10a/shop-dev-database", "waiting 426679, progressing 426679, ready 426679, waiting 958d90 destroys, ready 958d90 destroys"},
		{"10b-destroy-onDeletion", "Terraform/s10b/shop-dev-database", "waiting 508677, ready 508677"},
		{"10c-destroy-onDeletion-unapproved", "Terraform/s10c/shop-dev-database", "ready 576980, progressing 576980"},
		{"11a-destroy-auto-order-no-seal", "Kustomization/s11/stacks", "progressing a9811f, waiting a9811f, waiting 08c095, progressing 08c095, ready 08c095, waiting f75211, progressing 2620ad, failed 2620ad"},
		{"11a-destroy-auto-order-no-seal", "Kustomization/s11/shop-dev-database", "progressing a9811f, waiting a9811f, progressing 08c095, ready 08c095, waiting f75211, progressing 2620ad, failed 2620ad"},
		{"11a-destroy-auto-order-no-seal", "Kustomization/s11/shop-dev-networking", "progressing a9811f, ready a9811f, ready 08c095, progressing f75211"},
		{"11a-destroy-auto-order-no-seal", "Terraform/s11/shop-dev-networking", "progressing, ready ae9c53, progressing 404783, ready 404783 destroys"},
		{"11a-destroy-auto-order-no-seal", "Terraform/s11/shop-dev-database", "progressing, waiting ae9c53, ready ae9c53, waiting 404783 destroys, failed 404783"},
		{"11b-destroy-auto-order-seal", "Kustomization/s11c/stacks", "progressing 648896, waiting 648896, progressing 13f3fd, ready 13f3fd, waiting df8879, progressing 489197, failed 489197"},
		{"11b-destroy-auto-order-seal", "Kustomization/s11c/shop-dev-database", "progressing 648896, waiting 648896, waiting 13f3fd, progressing 13f3fd, ready 13f3fd, waiting df8879, progressing 489197, failed 489197"},
		{"11b-destroy-auto-order-seal", "Kustomization/s11c/shop-dev-networking", "progressing 648896, ready 648896, ready 13f3fd, progressing df8879, ready df8879"},
		{"11b-destroy-auto-order-seal", "Terraform/s11c/shop-dev-networking", "ready f396ae, ready 5e3588 destroys"},
		{"11b-destroy-auto-order-seal", "Terraform/s11c/shop-dev-database", "waiting f396ae, ready f396ae, waiting 5e3588 destroys, failed 5e3588"},
		{"12-wrong-plan-id", "Terraform/s12/shop-dev-database", "progressing, waiting 86910b, waiting ee23ca, ready 88e474"},
		{"13-vars-same-commit", "Terraform/s13/shop-dev-database", "progressing, waiting 1d5f99, progressing 1d5f99, ready 1d5f99, waiting 1d5f99"},
		{"13b-destroy-same-commit", "Terraform/s13b/shop-dev-database", "waiting a0c313, ready a0c313, ready a0c313 destroys"},
		{"14-suspend-force", "Terraform/s14/shop-dev-database", "progressing, progressing 8cdb2a, suspended 8cdb2a, waiting 79a101, ready 79a101"},
		{"15a-kustomization-default-no-seal", "Kustomization/s15a/stacks", "progressing 3c0c52, waiting 3c0c52, progressing 3c0c52, ready 7610fc, waiting d9f06f"},
		{"15a-kustomization-default-no-seal", "Kustomization/s15a/shop-dev-database", "progressing 3c0c52, waiting 3c0c52, progressing 7610fc, ready 7610fc, waiting d9f06f"},
		{"15a-kustomization-default-no-seal", "Terraform/s15a/shop-dev-database", "progressing, waiting 759c9d, progressing 759c9d, ready 759c9d, waiting 4dc240"},
		{"15b-kustomization-default-seal", "Kustomization/s15b/stacks", "progressing da3646, waiting da3646, progressing 74c803, ready 74c803, waiting d42850, progressing e2b542, ready e2b542"},
		{"15b-kustomization-default-seal", "Kustomization/s15b/shop-dev-database", "progressing da3646, waiting da3646, waiting 74c803, progressing 74c803, ready 74c803, waiting d42850, progressing e2b542, ready e2b542"},
		{"15b-kustomization-default-seal", "Terraform/s15b/shop-dev-database", "progressing, waiting 120d7f, ready 120d7f, waiting 8b0aac, ready 8b0aac"},
		{"15c-kustomization-gate-seal", "Kustomization/s15c/stacks", "waiting b157b9, progressing 35f8c9, ready 35f8c9, waiting c54a09, progressing 01c636, ready 01c636, progressing 691e6a, waiting 8f6534, progressing 8910d9, ready 8910d9, ready 2e7c4b"},
		{"15c-kustomization-gate-seal", "Kustomization/s15c/shop-dev-database", "waiting b157b9, progressing 35f8c9, ready 35f8c9, waiting c54a09, progressing 01c636, ready 01c636, progressing 691e6a, failed 691e6a, waiting 8f6534, progressing 8910d9, ready 8910d9, progressing 2e7c4b"},
		{"15c-kustomization-gate-seal", "Terraform/s15c/shop-dev-database", "waiting f90c4c, ready f90c4c, waiting 58c22e, ready 58c22e, failed c20a57, waiting 58f2fb destroys, ready 58f2fb destroys"},
		{"16a-helm-lifecycle", "HelmRelease/s16a/site", "progressing, ready, failed, ready, failed"},
		{"16b-helm-waits", "HelmRelease/s16b/nochart", "failed"},
		{"16b-helm-waits", "HelmRelease/s16b/vals", "failed, ready, suspended, ready"},
		{"16b-helm-waits", "HelmRelease/s16b/dependent", "progressing, ready"},
		{"17-kustomization", "Kustomization/s17d/first", "failed, ready 9721e8, ready 25d826, failed 89406f, failed 89e466, failed bcb25b, ready 5fb66a, failed 9f7603, ready 9f7603, suspended 9f7603, ready 380ba9, progressing ae582c, failed ae582c, ready 8674aa"},
		{"17-kustomization", "Kustomization/s17d/second", "failed, progressing 9721e8, ready 9721e8, ready 25d826, ready 5fb66a, ready 9f7603, ready 380ba9, ready 8674aa"},
		{"17x-workers-exhausted", "Kustomization/s17/first", "progressing, progressing 54ed57, failed 54ed57, ready 05ac42, failed 09b4eb"},
		{"17x-workers-exhausted", "Kustomization/s17/second", "progressing, progressing 54ed57, progressing 05ac42, ready 05ac42"},
	} {
		r := recordings.Load(t, c.recording)
		got := replay(t, r, c.object, func(s recordings.Step, got ledger.State) { checkTerraform(t, r.Name, c.object, s, got) })
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %s is\n%s\nwant\n%s", c.recording, c.object, text, c.want)
		}
	}
}

// checkTerraform reports a state of a Terraform object that what its controller has written excludes, in whatever phase
// that is: it waits if and only if a plan is pending that is not approved; with a pending plan, or before its newest
// specification was looked at, it is not ready.
func checkTerraform(t *testing.T, recording, object string, s recordings.Step, got ledger.State) {
	t.Helper()
	if s.Object != object || !strings.HasPrefix(object, "Terraform/") || s.Find(object) == nil {
		return
	}
	var o struct {
		Metadata struct{ Generation int64 }
		Spec     struct {
			ApprovePlan string
			Suspend     bool
		}
		Status struct {
			ObservedGeneration  int64
			LastAppliedRevision string
			LastPlannedRevision string
			Plan                struct {
				Pending       string
				IsDestroyPlan bool
			}
		}
	}
	if err := json.Unmarshal(s.Find(object), &o); err != nil {
		t.Fatal(err)
	}
	pending := o.Status.Plan.Pending
	waits := pending != "" && o.Spec.ApprovePlan != "auto" && o.Spec.ApprovePlan != pending && !o.Spec.Suspend
	at := s.Time.Format("15:04:05.00")
	switch {
	case waits && (got.Phase != ledger.Waiting || got.Plan.ID != pending || got.Plan.Destroys != o.Status.Plan.IsDestroyPlan):
		t.Errorf("%s at %s: %s waits for approval of %s, and is %+v", recording, at, object, pending, got)
	case got.Phase == ledger.Ready && pending != "" && got.Target() != o.Status.LastAppliedRevision: // it stays ready at what it has
		t.Errorf("%s at %s: %s is ready, and %s is pending", recording, at, object, pending)
	case got.Phase == ledger.Ready && got.Target() != o.Status.LastAppliedRevision && got.Target() != o.Status.LastPlannedRevision:
		t.Errorf("%s at %s: %s is ready at %s, which was neither applied nor planned", recording, at, object, got.Target())
	case got.IsDestroyed() && (!o.Status.Plan.IsDestroyPlan || o.Status.ObservedGeneration < o.Metadata.Generation-1):
		t.Errorf("%s at %s: %s is destroyed, and nothing says so", recording, at, object)
	}
}

// TestHeldUp: an agent sees that a health check of an older commit holds up a newer one, where kustomize-controller runs
// without the feature gate CancelHealthCheckOnNewRevision, and the ledger remembers when it was seen last.
func TestHeldUp(t *testing.T) {
	for name, want := range map[string]string{
		"15b-kustomization-default-seal": "Kustomization/s15b/stacks", // an approval waits for nearly nine minutes
		"15c-kustomization-gate-seal":    "",                          // the same with the gate
	} {
		l := ledger.New(1000)
		var last time.Time
		recordings.Load(t, name).Replay(10*time.Second, func(_ recordings.Step, q agentapi.Request) {
			contact := q.Contact(q.Sent)
			if contact.HeldUp != "" {
				last = q.Sent
			}
			l.Receive(contact, q.Reports(0))
		})
		if c := l.FindCluster("east-1"); c.HeldUp != want || !c.HeldUpSeen.Equal(last) {
			t.Errorf("%s: %q is held up at %s, want %q at %s", name, c.HeldUp, c.HeldUpSeen, want, last)
		}
	}
}
