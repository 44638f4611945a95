package giteatest

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
)

// Application is an OAuth application.
type Application struct {
	Name     string
	Number   int64  `json:"id"`
	ID       string `json:"client_id"`
	Secret   string `json:"client_secret"`
	Redirect []string
}

// NewApplication makes an OAuth application that sends people back to an address.
func (s *Server) NewApplication(name, redirect string) Application {
	s.t.Helper()
	made := Application{}
	s.sendJSON(http.MethodPost, "/user/applications/oauth2", map[string]any{"name": name, "redirect_uris": []string{redirect}, "confidential_client": true}, &made)
	return made
}

// RemoveApplication removes an OAuth application: its tokens count no more.
func (s *Server) RemoveApplication(a Application) {
	s.t.Helper()
	s.sendJSON(http.MethodDelete, fmt.Sprintf("/user/applications/oauth2/%d", a.Number), nil, nil)
}

// hiddenField is a field of the page at which a person grants what an application asks for.
var hiddenField = regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`)

// Authorize has a user sign in at the address that an application sends them to, and grant what it asks for, as
// with a browser. It returns the address that the server sends them back to.
func (s *Server) Authorize(name, address string) string {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	back := ""
	client := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if !strings.HasPrefix(r.URL.String(), s.URL) {
			back = r.URL.String()
			return http.ErrUseLastResponse
		}
		return nil
	}}
	s.post(client, "/user/login", url.Values{"user_name": {name}, "password": {password}})
	answer, err := client.Get(address)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if back == "" {
		form := url.Values{"granted": {"true"}}
		for _, field := range hiddenField.FindAllStringSubmatch(string(page), -1) {
			form.Set(field[1], html.UnescapeString(field[2]))
		}
		s.post(client, "/login/oauth/grant", form)
	}
	if back == "" {
		s.t.Fatalf("the server sends nobody back from %s: %s\n%s", address, answer.Status, page)
	}
	return back
}

func (s *Server) post(client *http.Client, path string, form url.Values) {
	s.t.Helper()
	answer, err := client.PostForm(s.URL+path, form)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 400 {
		text, _ := io.ReadAll(answer.Body) // for the message alone
		s.t.Fatalf("POST %s: %s: %s", path, answer.Status, text)
	}
}

// Pusher returns who has pushed a commit.
func (s *Server) Pusher(repo, commit string) string {
	s.t.Helper()
	var all []struct {
		Operation string                 `json:"op_type"`
		Content   string                 `json:"content"`
		User      struct{ Login string } `json:"act_user"`
	}
	found := ""
	err := s.waitUntil("list what was pushed", func() (bool, error) {
		s.sendJSON(http.MethodGet, "/repos/"+repo+"/activities/feeds", nil, &all)
		for _, a := range all {
			if a.Operation == "commit_repo" && strings.Contains(a.Content, commit) {
				found = a.User.Login
				break
			}
		}
		return found != "", nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

// Opener returns who has opened a pull request.
func (s *Server) Opener(repo, number string) string {
	s.t.Helper()
	var pull struct{ User struct{ Login string } }
	s.sendJSON(http.MethodGet, "/repos/"+repo+"/pulls/"+number, nil, &pull)
	return pull.User.Login
}
