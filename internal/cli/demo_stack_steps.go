package cli

import "strings"

// stackApproval returns the command that approves the plan of a component. Its object on the cluster
// names what the plan is made from.
func stackApproval(component string) string { return planApproval("dev", "shop/dev/"+component) }

func planApproval(environment, component string) string {
	file := "../" + addEnvironment(stackFolder, environment) + "/" + strings.ReplaceAll(component, "/", "-")
	return "fairlead approve-plan " + environment + " " + component + " --inputs $(sed -n 's/.*fairlead.io.inputs: //p' " + file + `.yaml | tr -d '"')`
}

// stackGuide is the second part of the demo of a stack. Approvals, and what they are of, are on the branch
// dev, so that a change begins with a pull. What to wait for is in quotes, word for word.
var stackGuide = []demoStep{
	{title: "See the stack, how far its components are, and their order", commands: []string{
		"fairlead stack list",
		"fairlead stack show shop/dev",
		"fairlead stack graph shop/dev",
	}},
	{title: "Read the plans that wait, and approve them", commands: []string{
		"fairlead stack plan shop/dev dev~1 dev --plans ../cluster/plans.yaml",
		stackApproval("cluster"),
		stackApproval("database"),
		planApproval("prod", "shop/queue-prod/queue"),
	}, rest: []demoRest{{"The website needs both. When the first terminal says \"website is installed\":", []string{
		"git pull -q",
		"fairlead stack show shop/dev",
	}}}},
	{title: "Change a variable: only the database makes another plan", commands: []string{
		"sed -i.bak 's/value: small/value: large/' stacks/shop.yaml",
		"git commit -qam 'A larger database' && git push -q",
	}, rest: []demoRest{{"The old approval does not count: it was of another plan. When the first terminal says\n\"database waits again\":", []string{
		"fairlead stack plan shop/dev dev~1 dev --plans ../cluster/plans.yaml",
		stackApproval("database"),
	}}, {"When the first terminal says \"database is applied\":", []string{
		"git pull -q",
		"fairlead stack show shop/dev",
	}}}},
	{title: "Change something behind Terraform's back: the cluster drifts", commands: []string{
		"echo 'somebody has removed a node' > ../cluster/shop-dev-cluster.drift",
	}, rest: []demoRest{{"Nothing corrects it without a person. When the first terminal says \"asks for another plan\", read\nthe pull request, and merge it:", []string{
		"fairlead stack show shop/dev",
		"fairlead pr show dev --repo ../control-plane.git",
		"fairlead pr merge dev --repo ../control-plane.git",
	}}, {"When the first terminal says \"cluster waits again\":", []string{
		stackApproval("cluster"),
	}}, {"When the first terminal says \"cluster is applied\":", []string{
		"git pull -q",
		"fairlead stack list",
	}}}},
	{title: "Move a change from dev to prod: the queue is a blueprint of the base, which each environment takes", commands: []string{
		"git switch -q main && git pull -q",
		"sed -i.bak 's/value: small/value: large/' blueprints/queue.yaml",
		"git commit -qam 'A larger queue' && git push -q",
	}, rest: []demoRest{{"dev applies it, and then stage: the blueprint has autoApprove. prod has its own word, and nothing else\ndiffers. When the first terminal says \"prod/queue waits again\":", []string{
		"fairlead diff stage prod --stacks",
		planApproval("prod", "shop/queue-prod/queue"),
	}}, {"When the first terminal says \"prod/queue is applied\":", []string{
		"fairlead status",
		"git switch -q dev && git pull -q",
	}}}},
	{title: "Tear the stack down: in the reverse order, and behind approval", commands: []string{
		"sed -i.bak 's/teardown: false/teardown: true/' stacks/shop.yaml",
		"git commit -qam 'The shop closes' && git push -q",
		"fairlead stack graph shop/dev",
	}, rest: []demoRest{{"That would destroy everything, so the pull request of the output waits. When the first terminal\nsays \"waits for a person\", read it and merge it:", []string{
		"fairlead pr view dev --repo ../gitops.git",
		"fairlead pr merge dev --repo ../gitops.git",
	}}, {"When the first terminal says \"database is to be destroyed\":", []string{
		stackApproval("database"),
		stackApproval("cluster"),
	}}, {"The network goes last, without a person: it has autoApprove. When the first\nterminal says \"networking is destroyed\":", []string{
		"git pull -q",
		"fairlead stack show shop/dev",
	}}}},
}
