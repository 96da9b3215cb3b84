package dlq

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

func TestConfiguredHeadersAreBelievedFirst(t *testing.T) {
	t.Parallel()
	names := FailureHeaders{Type: "X-Why-Class", Message: "X-Why", Stack: "X-Where", Retries: "X-Tries", Queue: "X-From", Time: "X-When"}
	headers := rabbit.Table{
		"X-Why-Class": "Busy", "X-Why": []byte("bank is busy"), "X-Where": "pay.go:7", "X-Tries": "4", "X-From": "q.pay", "X-When": int64(1772331000),
		"x-exception-type": "Other", "x-exception-message": "other", "x-retry-count": int32(9), "x-original-queue": "q.other", "error": "guessed",
	}
	want := Facts{
		Reason: NoReason, Failure: Failure{"Busy", "bank is busy", "pay.go:7", "configured"},
		RetryCount: new(int64(4)), RetryCountSource: "framework",
		Original: Origin{Queue: "q.pay", Evidence: "framework"}, DiedAt: unixMilli(1772331000000),
	}
	got := Extract(rabbit.Delivery{Headers: headers}, Source{FailureHeaders: names}, arrival)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

func TestGuessableNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"X-Error-Message": true, "er_ror": true, "App-Stack-Trace": true, "ex.ception type": true, "Reason": true, "RETRIES": true, "num_attempts": true,
		"Original-Queue": true, "x-or_iginal-queue": true, "traceparent": false, "x-death": false, "eror": false, "": false, "tenant": false, "e": false,
	} {
		if got := isGuessable(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}
