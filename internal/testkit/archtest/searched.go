package archtest

import "maps"

// searched are the functions that search a text for words, each with who wrote the text: others, or a file and a message
// in a repository that have nothing beside their text. A place without a function is a variable of the file.
var searched = join(foreign, formats, ours)

// foreign are those that read what other programs and people write.
var foreign = allowances{
	"internal/base/text/terraform.go: ":                                      "Terraform",
	"internal/base/text/time.go: ParseNext":                                  "a person",
	"internal/change/impact/compare.go: ":                                    "yaml.v3",
	"internal/change/impact/finding.go: diffExcerpt":                         "a diff",
	"internal/change/impact/settings.go: ":                                   "a file of settings",
	"internal/cli/author.go: readSignKey":                                    "a key",
	"internal/config/decode.go: ":                                            "yaml.v3",
	"internal/controlplane/model/decision.go: HoldsDecision":                 "a file that is not YAML",
	"internal/controlplane/model/delivery.go: decoder.decodeBinary":          "yaml.v3",
	"internal/controlplane/model/unread.go: isNearStackGroup":                "the group of an object",
	"internal/controlplane/provision/lock.go: ParseLock":                     "yaml.v3",
	"internal/controlplane/stack/clear.go: ":                                 "a value that people write",
	"internal/controlplane/values/parse.go: parseValue":                      "yaml.v2",
	"internal/forge/gitea/error.go: explainError":                            "Gitea",
	"internal/forge/gitea/merge.go: Forge.enableAutoMerge":                   "Gitea",
	"internal/forge/gitlab/error.go: ":                                       "GitLab",
	"internal/forge/gitlab/error.go: explainError":                           "GitLab",
	"internal/forge/gitlab/statuses.go: Forge.createStatus":                  "GitLab",
	"internal/forge/limit.go: answerWait":                                    "GitHub",
	"internal/git/giturl/webpage.go: FilePage":                               "the name of a host",
	"internal/git/objects/objects.go: FindDir":                               "Git",
	"internal/git/partial/filter.go: ReadFilter":                             "Git",
	"internal/git/protocol/fetch.go: readPack":                               "a Git server",
	"internal/git/sign/keys.go: Keys.AddGPG":                                 "a key",
	"internal/git/sign/keys.go: Keys.FindOwner":                              "a signature",
	"internal/git/sign/keys.go: Keys.findGPG":                                "go-crypto",
	"internal/git/sign/verify.go: verifySSH":                                 "a signature",
	"internal/git/signature.go: splitSignature":                              "Git",
	"internal/kube/kubeobject/kubeobject.go: ":                               "Flux",
	"internal/kube/kustomize/check.go: checker.checkResource":                "kustomize",
	"internal/kube/kustomize/check.go: checker.refuseDecode":                 "kustomize",
	"internal/kube/kustomize/document.go: ":                                  "yaml.v3",
	"internal/kube/manifest/decode.go: ":                                     "yaml.v3",
	"internal/ledger/drift.go: record.findModification":                      "Rancher Fleet",
	"internal/ledger/health.go: ":                                            "Flux",
	"internal/ledger/kubestatus/flux.go: ":                                   "Flux",
	"internal/ledger/kubestatus/flux.go: isCheckingHealth":                   "Flux",
	"internal/ledger/kubestatus/terraform.go: CleanTerraform":                "tofu-controller",
	"internal/reconcile/doctor/gitea.go: ":                                   "Gitea",
	"internal/reconcile/doctor/github.go: examination.checkGitHubProtection": "GitHub",
	"internal/reconcile/ledgerdb/sqlite_rows.go: ":                           "SQL",
	"internal/reconcile/observe/event.go: ":                                  "Flux",
	"internal/reconcile/observe/flux.go: fluxEvent.isTakenBack":              "Flux",
	"internal/reconcile/observe/flux.go: fluxEvent.rolloutPhase":             "Flux",
	"internal/promotion/rollout/rollout.go: ":                                "Flux",
	"internal/reconcile/promoter/laneproof.go: laneProof.judge":              "Flux",
	"internal/reconcile/preview/preview.go: Previewer.reportUnread":          "a Git server",
	"internal/render/kustomize.go: ":                                         "a template, and YAML",
	"internal/render/mistake.go: ":                                           "text/template",
	"internal/render/mistake.go: mistakeOf":                                  "text/template",
	"internal/server/answer/runs.go: ":                                       "Terraform",
	"internal/server/display/markdown.go: Stream.paintDiff":                  "a diff",
	"internal/server/session/proxy.go: Keeper.readProxy":                     "a header of HTTP",
}

// formats are those that read back what Fairlead stored where only text can be: files, messages of commits, and texts and
// statuses at a forge.
var formats = allowances{
	"internal/cli/demo_folder.go: demoFolder.recordAddress":          "the settings of the demo",
	"internal/cli/stacksim/objects.go: ":                             "a rendered root module",
	"internal/controlplane/provision/planfile.go: IsPlanOf":          "the head of a file of the output",
	"internal/forge/document.go: ":                                   "the comments of a pull request without a server",
	"internal/reconcile/history/history.go: parseEntry":              "the message of a commit",
	"internal/reconcile/history/pull.go: ":                           "why a pull request was closed, at its forge",
	"internal/reconcile/observe/runs.go: parseAttempt":               "the status of a commit, which remembers a run",
	"internal/reconcile/publish/body.go: cutMark":                    "the text of a pull request",
	"internal/reconcile/publish/body.go: withNotice":                 "the text of a pull request",
	"internal/reconcile/publish/proposals.go: Options.findProposals": "why a pull request was closed, at its forge",
	"internal/reconcile/publish/proposals.go: markWithdrawn":         "the text of a pull request",
	"internal/reconcile/publish/propose.go: attempt.reportDryRun":    "why a pull request was closed, at its forge",
	"internal/reconcile/publish/stopped.go: IsStopped":               "the text of a pull request",
	"internal/render/clusterfiles/capi_previous.go: isProtected":     "a rendered object",
	"internal/render/clusterfiles/relocated.go: checkRelocated":      "a rendered object, and its path",
	"internal/render/rootmodule/unpinned.go: ":                       "a rendered root module",
	"internal/render/stackfiles/withheld.go: hasDestruction":         "a rendered object",
}

// ours are those that still search what Fairlead says: the list only gets shorter.
var ours = allowances{
	"internal/cli/explain_promotion.go: promotionExplainer.run": "sentences do not say that they name a command",
	"internal/cli/status.go: listing.namesCommands":             "sentences do not say that they name a command",
	"internal/reconcile/stackview/status.go: ReadPhase":         "tofu-controller repeats our answer, and the ledger has only its message",
	"internal/render/output/check.go: ":                         "templates say which manifest is missing",
	"internal/server/page/sentence.go: ":                        "sentences have no typed commits, commands and times",
	"internal/server/page/sentence.go: splitSentence":           "sentences have no typed commits, commands and times",
}

func join(lists ...allowances) allowances {
	all := allowances{}
	for _, l := range lists {
		maps.Copy(all, l)
	}
	return all
}
