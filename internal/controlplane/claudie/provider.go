package claudie

import "slices"

// Ability describes providers of one type.
type Ability struct {
	// Keys are required keys of the Secret.
	Keys             []string
	Nodes, DNS, Spot bool
	// Legacy is true if current versions of Claudie lack the type.
	Legacy bool
}

var abilities = map[string]Ability{
	"aws":          {Keys: []string{"accesskey", "secretkey"}, Nodes: true, DNS: true, Spot: true},
	"azure":        {Keys: []string{"clientid", "clientsecret", "subscriptionid", "tenantid"}, Nodes: true, DNS: true, Spot: true},
	"cloudflare":   {Keys: []string{"apitoken", "accountid"}, DNS: true},
	"cloudrift":    {Keys: []string{"token"}, Nodes: true},
	"exoscale":     {Keys: []string{"apikey", "apisecret"}, Nodes: true, DNS: true},
	"gcp":          {Keys: []string{"credentials", "gcpproject"}, Nodes: true, DNS: true, Spot: true},
	"genesiscloud": {Keys: []string{"apitoken"}, Nodes: true, Legacy: true},
	"hetzner":      {Keys: []string{"credentials"}, Nodes: true, DNS: true},
	"hetznerdns":   {Keys: []string{"apitoken"}, DNS: true, Legacy: true},
	"oci":          {Keys: []string{"privatekey", "keyfingerprint", "tenancyocid", "userocid", "compartmentocid"}, Nodes: true, DNS: true, Spot: true},
	"openstack":    {Keys: []string{"authurl", "domainid", "projectid", "applicationcredentialid", "applicationcredentialsecret"}, Nodes: true},
	"ovh":          {Keys: []string{"clientid", "clientsecret", "servicename"}, Nodes: true, DNS: true},
	"verda":        {Keys: []string{"clientid", "clientsecret"}, Nodes: true, Spot: true},
}

// FindAbility returns false for an unknown type.
func FindAbility(providerType string) (Ability, bool) {
	a, known := abilities[providerType]
	return a, known
}

// ProviderTypes returns the types of current versions of Claudie, sorted.
func ProviderTypes() []string {
	var all []string
	for name, a := range abilities {
		if !a.Legacy {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// The keys of other Secrets.
const (
	// StaticKey is the key of a static node's SSH key.
	StaticKey = "privatekey"
	// TemplatesKey is the key of the token for a template repository.
	TemplatesKey = "token"
)
