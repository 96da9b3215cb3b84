package web

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/labstack/echo/v4"
)

//go:embed openapi.json
var openAPIDocument []byte

// openAPI returns the API's description with l's base path as its server.
func openAPI(l links) ([]byte, error) {
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(openAPIDocument, &doc); err != nil {
		return nil, fmt.Errorf("web: read openapi.json: %w", err)
	}
	servers, err := json.Marshal([]map[string]string{{"url": l.base + "/api/v1"}})
	if err != nil {
		return nil, fmt.Errorf("web: write openapi.json: %w", err)
	}
	doc["servers"] = servers
	out, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("web: write openapi.json: %w", err)
	}
	return out, nil
}

func (s *Server) apiDocument(c echo.Context) error {
	return c.JSONBlob(200, s.api)
}
