package web

import (
	"encoding/json"
	"net/http"
)

// maxStateRequest is the greatest length of the body of a request for a deployment state.
const maxStateRequest = 64 << 10

type stateRequest struct {
	Endpoint string `json:"manifests_endpoint"` // REPOSITORY/BRANCH/FOLDER
	Commit   string `json:"commit_id"`          // also as branch@sha1:COMMIT
}

// serveDeploymentState answers as Kalypso's Observability Hub does, so that scripts for it go on.
func (s *site) serveDeploymentState(w http.ResponseWriter, r *http.Request) {
	if s.options.Fleet == nil {
		s.refuseWithoutLedger(w, r)
		return
	}
	var asked stateRequest
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxStateRequest)).Decode(&asked)
	if err != nil {
		s.writeJSON(w, r, http.StatusBadRequest, errorAnswer{"the body is not JSON: " + err.Error(), `write {"manifests_endpoint": "REPOSITORY/BRANCH/FOLDER", "commit_id": "COMMIT"}`})
		return
	}
	state, err := s.options.Fleet.FindDeploymentState(r.Context(), asked.Endpoint, asked.Commit)
	if err != nil {
		s.refuseQuestion(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusOK, state)
}
