package githubfake

import (
	"net/http"
	"strings"
)

// comment is one of an issue or pull request.
type comment struct {
	id           int
	author, body string
}

// loginOf returns who a token is of; "" for an unknown token. That of an App is a bot.
func (s *Server) loginOf(token string) string {
	switch {
	case token == "":
		return ""
	case token == s.Token:
		return "fairlead"
	case s.app != nil && s.app.tokens[token]:
		return "fairlead-app[bot]"
	}
	return ""
}

func (c *comment) object() object {
	return object{"id": c.id, "body": c.body, "user": userObject(c.author)}
}

// userObject shows an account.
func userObject(login string) object {
	kind := "User"
	if isApp(login) {
		kind = "Bot"
	}
	return object{"login": login, "type": kind}
}

func isApp(login string) bool { return strings.HasSuffix(login, "[bot]") }

func (s *Server) listComments(c call) reply {
	all := []any{}
	for _, one := range c.item.comments {
		all = append(all, one.object())
	}
	return s.pageOf(c.query, all)
}

func (s *Server) addComment(c call) reply {
	if bad := badComment(c.textField("body")); bad != nil {
		return *bad
	}
	return reply{status: http.StatusCreated, value: s.newComment(c.item, c.login, c.textField("body")).object()}
}

func badComment(body string) *reply {
	switch {
	case strings.TrimSpace(body) == "":
		bad := newFailure(http.StatusUnprocessableEntity, "Validation Failed", object{"resource": "IssueComment", "code": "missing_field", "field": "body"})
		return &bad
	case len([]rune(body)) > 65536:
		bad := newInvalid("IssueComment", "body is too long (maximum is 65536 characters)")
		return &bad
	}
	return nil
}

func (s *Server) newComment(i *item, author, body string) *comment {
	one := &comment{s.nextID(), author, body}
	i.comments = append(i.comments, one)
	return one
}

func (s *Server) editComment(c call) reply {
	for _, i := range c.repo.items {
		for _, one := range i.comments {
			if one.id != parseNumber(c.params["comment_id"]) {
				continue
			}
			if bad := badComment(c.textField("body")); bad != nil {
				return *bad
			}
			one.body = c.textField("body")
			return reply{status: http.StatusOK, value: one.object()}
		}
	}
	return newFailure(http.StatusNotFound, "Not Found")
}
