package web

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

//go:embed static
var staticFiles embed.FS

type asset struct {
	content  []byte
	mimeType string
	url      string
	hash     string
}

// assets are the embedded files, each under an address that changes with its
// content, so that browsers may keep it for ever.
type assets struct {
	files map[string]asset
}

func loadAssets(l links) (*assets, error) {
	a := &assets{files: map[string]asset{}}
	err := fs.WalkDir(staticFiles, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := staticFiles.ReadFile(name)
		if err != nil {
			return err
		}
		short := name[len("static/"):]
		sum := sha256.Sum256(content)
		hash := hex.EncodeToString(sum[:6])
		a.files[short] = asset{
			content: content, mimeType: mimeType(short), hash: hash,
			url: l.base + "/static/" + hash + "/" + short,
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("web: read assets: %w", err)
	}
	if a.files["app.css"].content == nil {
		return nil, errors.New("web: read assets: app.css is missing")
	}
	return a, nil
}

// mimeType does not ask the machine's own table, which may lack a type.
func mimeType(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// url returns the address of the file, "" where it is not embedded.
func (a *assets) url(name string) string { return a.files[name].url }

// scripts returns the addresses of all scripts: htmx, its extensions, the
// console's own. What npm brings (make assets) is left out where it is not
// there; the pages work without.
func (a *assets) scripts() []string {
	var names []string
	for name := range a.files {
		if path.Ext(name) == ".js" {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(x, y string) int {
		return cmp.Or(cmp.Compare(scriptRank(x), scriptRank(y)), cmp.Compare(x, y))
	})
	urls := make([]string, len(names))
	for i, name := range names {
		urls[i] = a.url(name)
	}
	return urls
}

func scriptRank(name string) int {
	switch {
	case strings.HasPrefix(name, "vendor/htmx."):
		return 0
	case strings.HasPrefix(name, "vendor/"):
		return 1
	}
	return 2
}

func (s *Server) static(c echo.Context) error {
	file, ok := s.assets.files[c.Param("*")]
	if !ok {
		return echo.ErrNotFound
	}
	h := c.Response().Header()
	if c.Param("hash") == file.hash {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	return c.Blob(http.StatusOK, file.mimeType, file.content)
}
