package web

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"
)

// contentSecurityPolicy allows the console's own files and nothing else: no
// inline script or style, no frame, no form that leaves the console.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// Errors of requests that another web page caused.
var (
	errForeignHost   = errors.New("web: the request names a host that is not this console's")
	errForeignOrigin = errors.New("web: the request comes from another site")
)

func (s *Server) securityHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store") // what is shown is money's; assets set their own
		return next(c)
	}
}

// checkHost refuses, while authentication is off, requests that came here under
// a name that is not the console's.
func (s *Server) checkHost(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.AuthOff && !s.ownHost(c.Request().Host) {
			return fmt.Errorf("%w: %q", errForeignHost, c.Request().Host)
		}
		return next(c)
	}
}

func (s *Server) ownHost(hostport string) bool {
	if s.links.external != nil && strings.EqualFold(hostport, s.links.external.Host) {
		return true
	}
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	if s.links.external != nil && strings.EqualFold(host, s.links.external.Hostname()) {
		return true
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// crossOrigin refuses what another site makes a browser send. Programs that are
// no browsers send neither Sec-Fetch-Site nor Origin and pass.
func (s *Server) crossOrigin() (echo.MiddlewareFunc, error) {
	p := http.NewCrossOriginProtection()
	if u := s.links.external; u != nil {
		if err := p.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
			return nil, fmt.Errorf("web: external URL: %w", err)
		}
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if err := p.Check(c.Request()); err != nil {
				return fmt.Errorf("%w: %w", errForeignOrigin, err)
			}
			return next(c)
		}
	}, nil
}
