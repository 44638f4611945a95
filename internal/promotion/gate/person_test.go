package gate

import "testing"

// Approvals of people who signed in at the page, and of people with keys.
var (
	atPage = func(subject, address string, claims ...string) Approval {
		return Approval{Approver: address, Actor: "https://issuer.example.com#" + subject, Claims: claims}
	}
	byKey = func(address string, keys ...string) Approval { return Approval{Approver: address, Keys: keys} }
)

// TestOnePersonCountsOnce: who signed in is known by the sign-in, whatever their address is; and people of whom nothing says
// that they are different are not counted together.
func TestOnePersonCountsOnce(t *testing.T) {
	unverified := PlaceholderAddress("https://issuer.example.com#7", "fairlead.example.com")
	const doubted = " may be one of the others: nothing says that their logins, addresses and sign-ins are different people's"
	in := func(all ...Approval) Facts { return facts(func(f *Facts) { f.Approvals = all }) }
	const two = "approval: {count: 2, trusted: true}"
	checkCases(t, []verdictCase{
		{"an address that has changed", two, in(atPage("7", "alice@a.example"), atPage("7", "alice@b.example")), "wait: 1 approval missing; approved by alice@a.example"},
		{"an address that is not verified any more", two, in(atPage("7", "alice@a.example"), atPage("7", unverified)), "wait: 1 approval missing; approved by " + unverified},
		{"two people", two, in(atPage("7", "alice@a.example"), atPage("8", "bob@a.example")), "pass: approved by alice@a.example and bob@a.example"},
		{"two people without addresses", two, in(atPage("7", unverified), atPage("8", PlaceholderAddress("https://issuer.example.com#8", "x"))), "pass: approved by " + unverified + " and " + PlaceholderAddress("https://issuer.example.com#8", "x")},
		{"two sign-ins with one address", two, in(atPage("7", "alice@a.example"), atPage("8", "alice@a.example")), "wait: 1 approval missing; approved by alice@a.example"},
		{"two issuers, without an address", two, in(Approval{Approver: "x@a.example", Actor: "proxy#x"}, atPage("7", unverified)), "wait: 1 approval missing; approved by " + unverified + "; x@a.example" + doubted},
		{"the page and a key", two, in(atPage("7", "alice@a.example"), byKey("alice@home.example", "K1")), "wait: 1 approval missing; approved by alice@a.example; alice@home.example" + doubted},
		{"the page without an address, and a key", two, in(atPage("7", unverified), byKey("alice@home.example", "K1")), "wait: 1 approval missing; approved by " + unverified + "; alice@home.example" + doubted},
		{"the page and two keys", two, in(atPage("7", unverified), byKey("bob@home.example", "K1"), byKey("eve@home.example", "K2")),
			"pass: approved by bob@home.example and eve@home.example; " + unverified + doubted},
		{"the page, and the key of another address", two, in(Approval{Approver: "alice@a.example", Actor: "https://issuer.example.com#7", Keys: []string{"K2"}}, byKey("bob@a.example", "K1")),
			"pass: approved by alice@a.example and bob@a.example"},
		{"a key that names the address of the page", two, in(Approval{Approver: "alice@a.example", Actor: "https://issuer.example.com#7", Keys: []string{"K1"}}, byKey("alice@home.example", "K1")),
			"wait: 1 approval missing; approved by alice@a.example"},
		{"one key with two addresses", two, in(byKey("alice@a.example", "K1"), byKey("alice@b.example", "K1")), "wait: 1 approval missing; approved by alice@a.example"},
		{"an address that nobody vouches for", two, in(atPage("7", unverified, "bob@a.example"), atPage("8", "bob@a.example"), atPage("9", "eve@a.example")),
			"pass: approved by bob@a.example and eve@a.example; " + unverified + doubted},
		{"a review and the page, with the login", two, facts(func(f *Facts) {
			f.Pull.Approvals = []Approval{{Approver: "alice"}}
			f.Approvals = []Approval{{Approver: unverified, Actor: "https://issuer.example.com#7", Login: "Alice"}}
		}), "wait: 1 approval missing; approved by " + unverified},
		{"what is not trusted connects nobody", two, in(byKey("alice@a.example", "K1"), byKey("bob@a.example", "K2"), Approval{Approver: "alice@a.example", Keys: []string{"K2"}, Distrusted: "is not signed"}),
			"pass: approved by alice@a.example and bob@a.example; the approval of alice@a.example is not signed"},
	})
}

// TestAuthorAtThePage: an author does not approve what they wrote by signing in with another address.
func TestAuthorAtThePage(t *testing.T) {
	const actor = "https://issuer.example.com#7"
	unverified := PlaceholderAddress(actor, "fairlead.example.com")
	author := Person{Names: []string{"alice@work.example", "Alice Doe"}}
	in := func(author Person, all ...Approval) Facts {
		return facts(func(f *Facts) { f.Authors, f.Approvals = []Person{author}, all })
	}
	const gate = "approval: {distinct: true, trusted: true}"
	const doubted = " may be an author: nothing says that their sign-in and the address of the author are different people's"
	withLogin, withActor, withKey := author, author, author
	withLogin.Login, withActor.Actor, withKey.Keys = "alice", actor, []string{"K1"}
	checkCases(t, []verdictCase{
		{"another person", gate, in(author, atPage("7", "bob@work.example", "Bob Doe")), "pass: approved by bob@work.example"},
		{"the same address", gate, in(author, atPage("7", "Alice@work.example")), "wait: 1 approval missing; Alice@work.example is an author of what is approved"},
		{"no address", gate, in(author, atPage("7", unverified)), "wait: 1 approval missing; " + unverified + doubted},
		{"the address, not verified", gate, in(author, atPage("7", unverified, "alice@work.example")), "wait: 1 approval missing; " + unverified + doubted},
		{"an earlier address", gate, in(author, atPage("7", "alice@home.example", "alice@work.example")), "wait: 1 approval missing; alice@home.example" + doubted},
		{"the name", gate, in(author, atPage("7", "alice@home.example", "alice doe")), "wait: 1 approval missing; alice@home.example" + doubted},
		{"the sign-in", gate, in(withActor, atPage("7", "alice@home.example")), "wait: 1 approval missing; alice@home.example is an author of what is approved"},
		{"the login", gate, in(withLogin, Approval{Approver: unverified, Actor: actor, Login: "alice"}), "wait: 1 approval missing; " + unverified + " is an author of what is approved"},
		{"another login", gate, in(withLogin, Approval{Approver: unverified, Actor: actor, Login: "bob"}), "pass: approved by " + unverified},
		{"a key of both addresses", gate, in(withKey, Approval{Approver: "alice@home.example", Actor: actor, Keys: []string{"K1"}}), "wait: 1 approval missing; alice@home.example is an author of what is approved"},
		{"an author who claims another sign-in", gate, in(Person{Actor: "https://issuer.example.com#8", Names: author.Names}, atPage("7", unverified)), "wait: 1 approval missing; " + unverified + doubted},
		{"by two addresses, one of them the author's", gate, in(author, atPage("7", "alice@work.example"), atPage("7", "alice@home.example")),
			"wait: 1 approval missing; alice@home.example is an author of what is approved; alice@work.example is an author of what is approved"},
	})
}
