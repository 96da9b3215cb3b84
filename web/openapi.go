package web

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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

// queryNames returns which parameters each operation of the API takes in its
// query, by "GET /messages". The description is the one list of them.
func queryNames() (map[string][]string, error) {
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
		}
	}
	if err := json.Unmarshal(openAPIDocument, &doc); err != nil {
		return nil, fmt.Errorf("web: read openapi.json: %w", err)
	}
	names := map[string][]string{}
	for path, operations := range doc.Paths {
		for method, o := range operations {
			at := strings.ToUpper(method) + " " + path
			names[at] = []string{}
			for _, p := range o.Parameters {
				if p.In == "query" {
					names[at] = append(names[at], p.Name)
				}
			}
		}
	}
	return names, nil
}

// onlyDescribed refuses a query with a parameter that the operation does not
// have: a condition with a slip in its name would silently select everything.
func onlyDescribed(names []string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			for _, name := range sortedKeys(c.QueryParams()) {
				if !slices.Contains(names, name) {
					return badQuery(name, fmt.Sprintf("%s: there is no such parameter; there are %s", name, orNone(names)))
				}
			}
			return next(c)
		}
	}
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (s *Server) apiDocument(c echo.Context) error {
	return c.JSONBlob(200, s.api)
}
