package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-d2bf649b/dead-letter-office/internal/config"
)

// whole is a file that uses every part, as product.md shows it.
const whole = `
server:   {listen: "127.0.0.1:8080", metrics_listen: "127.0.0.1:9464", base_path: "/", external_url: "http://localhost:8080"}
environment: {name: demo, color: green}
database: {url: "postgres://dlo:s3cret@localhost/dlo"}
redis:    {urls: ["redis://:s3cret@localhost:6379"], mode: single}
brokers:
  - {name: pay, url: "amqp://guest:s3cret@localhost/", management_url: ""}
sources:
  - name: pay-success
    broker: pay
    queue: q.pay.dlx.terminal
    original_queue: auto
    route: auto
    business_key: [{body: "$.orderNo"}, {header: x-message-id}, {property: message_id}]
    idempotency_keys: [{space: pay-success}]
    guards:
      - {name: order state,  kind: state,  database: orders, query: "select status from t_order where order_no = $1", from: [INIT], done: [PAID, SETTLED]}
      - {name: account flow, kind: effect, database: orders, query: "select 1 from t_account_flow where biz_no = $1 and type = 'PAY_DEDUCT'"}
    runbook_url: ""
key_spaces:
  - {name: pay-success, pattern: "mq:consumed:pay_success:{business_key}", style: flag, ttl: 24h, stuck_after: 5m}
business_databases: [{name: orders, url: "postgres://ro:s3cret@localhost/orders"}]
duplicate_ratio: {source: redis}
alerts:
  alertmanager: {urls: []}
  webhooks: []
  rules: []
auth: {mode: none}
retention: {resolved: 30d, discarded: 30d, audit: 400d}
`

// load writes text to a file and loads it with the environment given.
func load(t *testing.T, text string, environ ...string) (config.Config, []string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "console.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(config.Input{Path: path, Environ: environ}, config.ForServe)
}

func TestWholeFileLoads(t *testing.T) {
	t.Parallel()
	c, warnings, err := load(t, whole)
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) > 0 {
		t.Errorf("warnings: %v", warnings)
	}
	if got := c.Sources[0].Guards[0].Done; !cmp.Equal(got, []string{"PAID", "SETTLED"}) {
		t.Errorf("done states: %v", got)
	}
	if got := c.Retention.Audit.String(); got != "400d" {
		t.Errorf("audit retention %s, want 400d", got)
	}
}

// Each mistake is answered by a sentence that names the setting or the line,
// and the answer repeats no secret.
func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, old, new, want string }{
		{"unknown key", "environment: {", "enviroment: {", `line 3: unknown key "enviroment" in the file's top level`},
		{"unknown key deep", "original_queue: auto", "orignal_queue: auto", `line 12: unknown key "orignal_queue" in source`},
		{"duplicate key", "    broker: pay\n", "    broker: pay\n    broker: pay\n", `key "broker" is there already`},
		{"list for text", "color: green", "color: [green]", "a list stands where a text belongs"},
		{"text for list", "sources:\n", "sources: none\nx:\n", "line 8"},
		{"not YAML", "auth: {mode: none}", "auth: {mode: none", "console.yaml: line"},
		{"two documents", "auth: {mode: none}", "---\nauth: {mode: none}", "more than one YAML document"},
		{"no database", "postgres://dlo:s3cret@localhost/dlo", "", "database.url: is required"},
		{"wrong scheme", "amqp://guest:s3cret@localhost/", "http://guest:s3cret@localhost/", "brokers.pay.url: is not a URL that starts with amqp:// or amqps://"},
		{"broken URL", "amqp://guest:s3cret@localhost/", "amqp://guest:s3cret@local host:x/", "brokers.pay.url: is not a URL"},
		{"no such broker", "    broker: pay\n", "    broker: payment\n", `sources.pay-success.broker: there is no broker named "payment"`},
		{"no such space", "{space: pay-success}", "{space: pay}", `there is no key space named "pay"`},
		{"no such database", "kind: effect, database: orders", "kind: effect, database: order", `there is no business database named "order"`},
		{"two guards of a kind", "kind: effect", "kind: state", "there is a guard of kind state already"},
		{"query without its parameter", "biz_no = $1", "biz_no = 1", "does not use $1"},
		{"broken path", "$.orderNo", "$.[", "is not a JSON path"},
		{"two places in one", "{header: x-message-id}", "{header: x-message-id, property: message_id}", "must hold one of body, header and property"},
		{"pattern without key", "pay_success:{business_key}", "pay_success:*", "must hold it once"},
		{"pattern too wide", "mq:consumed:pay_success:{business_key}", "{business_key}", "every key of Redis"},
		{"style", "style: flag", "style: string", `"string" is not one of flag, lock, status, hash`},
		{"flag without its TTL", "ttl: 24h, ", "", "key_spaces.pay-success.ttl: is required for style flag"},
		{"duration", "ttl: 24h", "ttl: one day", `line 21: "one day" is not a duration`},
		{"negative duration", "ttl: 24h", "ttl: -1h", "is not a duration"},
		{"one header for two things", "original_queue: auto", "failure_headers: {type: X-Why, message: X-Why}", "is the header of type already"},
		{"a part of a failure that is none", "original_queue: auto", "failure_headers: {cause: X-Why}", `unknown key "cause"`},
		{"replay into itself", "original_queue: auto", "original_queue: q.pay.dlx.terminal", "a replay would come straight back"},
		{"open to all", `listen: "127.0.0.1:8080"`, `listen: "0.0.0.0:8080"`, "server.insecure_listen"},
		{"address", `listen: "127.0.0.1:8080"`, `listen: "8080"`, "is not an address"},
		{"one address for both", `metrics_listen: "127.0.0.1:9464"`, `metrics_listen: "127.0.0.1:8080"`, "is the same as server.listen"},
		{"sign-in that is not there", "auth: {mode: none}", "auth: {mode: oidc}", "auth.mode: oidc is not built yet"},
		{"sign-in that never was", "auth: {mode: none}", "auth: {mode: ldap}", `"ldap" is not one of`},
		{"script in a link", `runbook_url: ""`, `runbook_url: "javascript:alert(1)"`, "runbook_url: is not a URL"},
		{"two redis, one mode", `"redis://:s3cret@localhost:6379"`, `"redis://a:1", "redis://b:1"`, "redis.mode is single"},
		{"space without redis", `urls: ["redis://:s3cret@localhost:6379"]`, `urls: []`, "redis.urls: is required"},
		{"name", "name: pay-success\n    broker", "name: pay success\n    broker", "may hold letters"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(whole, tt.old) {
				t.Fatalf("the file has no %q to break", tt.old)
			}
			_, _, err := load(t, strings.Replace(whole, tt.old, tt.new, 1))
			if err == nil {
				t.Fatal("loaded without an error")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error:\n%v\nwant it to hold %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error shows a secret:\n%v", err)
			}
		})
	}
}

// All problems are reported at once, not one a start.
func TestProblemsAreReportedTogether(t *testing.T) {
	t.Parallel()
	_, _, err := load(t, "environment: {name: x, color: pink}\nlog: {level: loud}\nserver: {grace: soon, lisen: x}\nauth: {mode: oidc}\n")
	for _, want := range []string{
		"database.url", "brokers", "sources", "environment.color", "log.level", "auth.mode",
		`line 3: "soon" is not a duration`, `line 3: unknown key "lisen"`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error does not name %s:\n%v", want, err)
		}
	}
}

func TestEnvironmentStandsOverTheFile(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(secret, []byte("postgres://from-file/db\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, warnings, err := load(t, whole,
		"DLO_SERVER_LISTEN=127.0.0.1:1", "DLO_BROKERS_PAY_URL=amqp://broker/v",
		"DLO_DATABASE_URL_FILE="+secret, "DLO_REDIS_URLS=redis://one:1",
		"DLO_KEY_SPACES_PAY_SUCCESS_STUCK_AFTER=2d", "DLO_TEST_AMQP_URL=x", "DLO_DATABSE_URL=typo", "HOME=/")
	if err != nil {
		t.Fatal(err)
	}
	got := []string{
		c.Server.Listen, c.Brokers[0].URL.Reveal(), c.Database.URL.Reveal(),
		c.Redis.URLs[0].Reveal(), c.KeySpaces[0].StuckAfter.String(),
	}
	want := []string{"127.0.0.1:1", "amqp://broker/v", "postgres://from-file/db", "redis://one:1", "2d"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"DLO_DATABSE_URL sets nothing: no setting has this name"}, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestFlagsStandOverTheEnvironment(t *testing.T) {
	t.Parallel()
	c, _, err := config.Load(config.Input{
		Environ: []string{"DLO_DATABASE_URL=postgres://env/db"},
		Flags:   map[string]string{"database.url": "postgres://flag/db"},
	}, config.ForMigrate)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Database.URL.Reveal(); got != "postgres://flag/db" {
		t.Errorf("database.url %s, want the flag's", got)
	}
}

func TestSecretGivenTwiceIsRefused(t *testing.T) {
	t.Parallel()
	_, _, err := load(t, whole, "DLO_DATABASE_URL=a", "DLO_DATABASE_URL_FILE=b")
	if err == nil || !strings.Contains(err.Error(), "keep one") {
		t.Errorf("error %v, want one that says to keep one", err)
	}
}

func TestEffectiveSettingsShowNoSecret(t *testing.T) {
	t.Parallel()
	text := strings.Replace(whole, "webhooks: []", `webhooks: [{url: "https://x/?token=s3cret"}]`, 1)
	c, _, err := load(t, text)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := c.Effective()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(shown, "s3cret") {
		t.Errorf("the effective settings show a secret:\n%s", shown)
	}
	for _, want := range []string{"dlo:xxxxx@localhost", "q.pay.dlx.terminal"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the effective settings lack %q:\n%s", want, shown)
		}
	}
}

func TestSecretHidesItself(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"amqp://u:p@h/v", "amqp://u:xxxxx@h/v"},
		{"amqp://u@h/v", "amqp://u@h/v"},
		{"postgres://h/db?password=p&sslmode=disable", "postgres://h/db?password=xxxxx&sslmode=disable"},
		{"host=h password=p dbname=d", "host=h password=xxxxx dbname=d"},
		{"host=h password='p q' dbname=d", "host=h password=xxxxx dbname=d"},
		{"amqp://u:p%zz@h/v", "xxxxx"},
		{"token", "xxxxx"},
		{"", ""},
	}
	for _, tt := range tests {
		if got := config.Secret(tt.in).String(); got != tt.want {
			t.Errorf("%q shows itself as %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(whole)
	f.Add("sources: [{name: a, guards: [{kind: state}]}]")
	f.Fuzz(func(_ *testing.T, text string) {
		c := config.Default()
		_ = config.Parse("f", []byte(text), &c)
	})
}

func FuzzSecret(f *testing.F) {
	f.Add("amqp://user:", "@host/")
	f.Fuzz(func(t *testing.T, before, after string) {
		const secret = "s3cr3tv4lue"
		shown := config.Secret(before + secret + after).String()
		if strings.HasSuffix(before, "://user:") && strings.HasPrefix(after, "@") && strings.Contains(shown, secret) {
			t.Errorf("%q shows the password", shown)
		}
	})
}
