package web

import (
	"encoding/json"

	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// attemptRow is one message in one replay: what was sent, and what became of it.
type attemptRow struct {
	Replay     string
	Href       string
	Message    string // its business key, or its id
	MessageURL string
	Round      string
	At         stamp
	Settled    stamp
	Verdict    mark
	Attempt    mark
	Outcome    *mark
	How        string // how the outcome is known
	Detail     string
	To         sentence
	Released   []releasedRow
	Guards     []guardStep
	Evidence   string // what the guards said just before it was sent, as JSON
}

// releasedRow is one key that was released, or was to be, with a message.
type releasedRow struct {
	Key, Href, Result string
}

func (f frame) attemptRows(items []replay.Item) []attemptRow {
	rows := make([]attemptRow, len(items))
	for i, item := range items {
		rows[i] = f.attemptRow(item)
	}
	return rows
}

func (f frame) attemptRow(i replay.Item) attemptRow {
	row := attemptRow{
		Replay: f.T("replay.number", "ID", i.ReplayID), Href: f.replay(i.ReplayID),
		Message: i.BusinessKey, MessageURL: f.message(i.MessageID),
		Round: f.T("life.round", "Round", i.Round), At: f.ago(i.ClaimedAt), Settled: f.ago(i.SettledAt),
		Verdict: f.verdict(i.Verdict), Attempt: f.attempt(i.Attempt), Detail: f.detail(i.Detail),
	}
	if row.Message == "" {
		row.Message = i.MessageID
	}
	if i.Outcome != "" {
		m := f.outcome(i.Outcome)
		row.Outcome = &m
		row.How = f.of("outcome_source", string(i.OutcomeSource))
	}
	if i.ToQueue != "" {
		row.To = f.S("destination.queue", "Queue", code(i.ToQueue))
	}
	row.Released = f.releasedRows(i.Released)
	row.Evidence = prettyJSON(i.Evidence)
	return row
}

// releasedRows reads what the replay recorded; what it cannot read it leaves
// to the audit.
func (f frame) releasedRows(recorded json.RawMessage) []releasedRow {
	var keys []struct {
		Key    string `json:"key"`
		Result string `json:"result"`
	}
	if len(recorded) == 0 || json.Unmarshal(recorded, &keys) != nil {
		return nil
	}
	rows := make([]releasedRow, len(keys))
	for i, k := range keys {
		rows[i] = releasedRow{k.Key, f.key(k.Key), f.of("release", k.Result)}
	}
	return rows
}

func prettyJSON(src json.RawMessage) string {
	n, ok := parseTree(src)
	if !ok || n.Scalar == "null" {
		return ""
	}
	return n.pretty()
}
