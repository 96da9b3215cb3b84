-- Replays: one row for each time an operator sent messages back, one or many.
CREATE TABLE replays (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    state        text        NOT NULL CHECK (state IN ('running','paused','done','cancelled','stopped')),
    why_stopped  text,
    query        text,                                 -- the selection's query; NULL: ids
    actor        text        NOT NULL,
    reason       text        NOT NULL,
    created_at   timestamptz NOT NULL,
    ended_at     timestamptz,
    total        integer     NOT NULL CHECK (total > 0)
);

-- Attempts: one row for each message of a replay; the evidence of what was sent.
CREATE TABLE attempts (
    replay_id       bigint      NOT NULL REFERENCES replays,
    message_id      uuid        NOT NULL REFERENCES dead_letters,
    round           integer     NOT NULL,              -- the life being sent
    state           text        NOT NULL
                                CHECK (state IN ('waiting','sent','skipped','blocked','returned','refused','unknown')),
    outcome         text        CHECK (outcome IN ('awaited','processed','duplicate','guard_refused','dead_again','unconfirmed')),
    outcome_source  text        CHECK (outcome_source IN ('report','dead_letter','key','probe','inferred','timeout')),
    detail          text,
    verdict         text        NOT NULL,              -- preflight's word when it was claimed
    override        text[]      NOT NULL DEFAULT '{}',
    business_key    text,
    route           text,                              -- auto's choice: queue, exchange or replay_exchange
    to_exchange     text,
    to_routing_key  text,
    to_queue        text,
    evidence_before jsonb,                             -- what each guard said just before the publish
    released        jsonb,                             -- keys released for it, with their results
    claimed_at      timestamptz NOT NULL,
    sent_at         timestamptz,                       -- NULL until the broker confirmed
    settle_after    timestamptz,                       -- the follower looks again from then on
    settled_at      timestamptz,

    CONSTRAINT attempts_once PRIMARY KEY (replay_id, message_id),
    CONSTRAINT attempts_outcome_after_send CHECK ((outcome IS NULL) = (state <> 'sent')),
    CONSTRAINT attempts_sent_at CHECK ((sent_at IS NULL) = (state <> 'sent'))
);
-- Serves the message page and the joining of reports: the newest attempt of a message.
CREATE INDEX attempts_message_idx ON attempts (message_id, replay_id DESC);
-- Serves the follower: what is still awaited, the longest first.
CREATE INDEX attempts_awaited_idx ON attempts (settle_after) WHERE outcome = 'awaited';
-- One message is in at most one replay at a time.
CREATE UNIQUE INDEX attempts_one_waiting_idx ON attempts (message_id) WHERE state = 'waiting';

ALTER TABLE lives ADD CONSTRAINT lives_replay FOREIGN KEY (replay_id) REFERENCES replays;

-- Cursors: how far a stream of Redis has been read.
CREATE TABLE cursors (
    name     text PRIMARY KEY,
    position text NOT NULL
);
