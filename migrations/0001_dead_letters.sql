-- The store of dead letters. Unknown is NULL, never 0 or ''.

-- Trigram search in bodies; the extension lives in public so that every
-- schema of a shared database can use it.
CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public;

-- Dead letters: one row for each message, however often it died. What the
-- list, the filters and the figures read; the columns below "current life" are
-- copies of the newest life's.
CREATE TABLE dead_letters (
    id                   uuid        PRIMARY KEY,      -- dlo-message-id; assigned once, never recomputed
    source               text        NOT NULL,
    state                text        NOT NULL DEFAULT 'open'
                                     CHECK (state IN ('open','replaying','replayed','resolved','discarded')),
    state_changed_at     timestamptz NOT NULL,
    round                integer     NOT NULL DEFAULT 1 CHECK (round >= 1),
    first_drained_at     timestamptz NOT NULL,
    possible_copy        boolean     NOT NULL DEFAULT false,
    quarantine           text,                         -- why it was quarantined; NULL: it was not

    -- the claim of a replay: who may publish it, until when
    claimed_by           text,
    claimed_until        timestamptz,

    -- current life
    business_key         text,
    reason               text        NOT NULL
                                     CHECK (reason IN ('rejected','expired','maxlen','delivery_limit','other','none')),
    failure_type         text,
    failure_message      text,
    extractor            text,                         -- which extractor spoke; NULL: none found anything
    retry_count          bigint      CHECK (retry_count >= 0),
    retry_count_source   text        CHECK (retry_count_source IN ('framework','x-death','delivery-count')),
    original_queue       text,
    original_exchange    text,
    original_routing_key text,
    original_evidence    text,
    first_died_at        timestamptz,
    died_at              timestamptz NOT NULL,         -- the arrival where the death's own time is unknown
    drained_at           timestamptz NOT NULL,
    content_type         text,
    content_encoding     text,
    body_size            bigint      NOT NULL CHECK (body_size >= 0),
    body_sha256          bytea       NOT NULL CHECK (length(body_sha256) = 32),
    body_preview         text,                         -- start of the body as text; NULL where it is not text
    body_text            text,                         -- lower-cased text for search, cut; NULL where it is not text

    CONSTRAINT dead_letters_claim CHECK ((claimed_by IS NULL) = (claimed_until IS NULL)),
    CONSTRAINT dead_letters_claimed_while_replaying CHECK (claimed_by IS NULL OR state = 'replaying'),
    CONSTRAINT dead_letters_retry_source CHECK ((retry_count IS NULL) = (retry_count_source IS NULL))
);

-- Serves the list: newest death first, all states or one, all sources or one.
CREATE INDEX dead_letters_died_idx         ON dead_letters (died_at DESC, id DESC);
CREATE INDEX dead_letters_state_died_idx   ON dead_letters (state, died_at DESC, id DESC);
CREATE INDEX dead_letters_source_died_idx  ON dead_letters (source, died_at DESC, id DESC);
CREATE INDEX dead_letters_reason_died_idx  ON dead_letters (reason, died_at DESC, id DESC);
CREATE INDEX dead_letters_retries_died_idx ON dead_letters (retry_count, died_at DESC, id DESC);
-- Serves "text in the body".
CREATE INDEX dead_letters_body_idx         ON dead_letters USING gin (body_text public.gin_trgm_ops);
-- Serves the messages that belong to a key, and newer ones with the same business key.
CREATE INDEX dead_letters_business_key_idx ON dead_letters (business_key, died_at DESC) WHERE business_key IS NOT NULL;
-- Serves depth and oldest, by source, and the list of what is open in one source.
CREATE INDEX dead_letters_open_idx         ON dead_letters (source, died_at DESC, id DESC) WHERE state = 'open';
-- Serves the count of quarantined messages.
CREATE INDEX dead_letters_quarantine_idx   ON dead_letters (source) WHERE quarantine IS NOT NULL;
-- Serves the search for claims that a dead console left.
CREATE INDEX dead_letters_claimed_idx      ON dead_letters (claimed_until) WHERE claimed_until IS NOT NULL;

-- Lives: one row for each time a message died and was drained; the exact bytes.
CREATE TABLE lives (
    message_id       uuid        NOT NULL REFERENCES dead_letters,
    round            integer     NOT NULL CHECK (round >= 1),
    drained_at       timestamptz NOT NULL,
    died_at          timestamptz NOT NULL,
    died_at_known    boolean     NOT NULL,             -- false: died_at is the arrival
    first_died_at    timestamptz,
    exchange         text        NOT NULL,             -- as delivered by the terminal queue
    routing_key      text        NOT NULL,
    redelivered      boolean     NOT NULL,
    properties       jsonb       NOT NULL,             -- typed as they came (package rabbit)
    headers          jsonb       NOT NULL,             -- typed as they came (package rabbit)
    headers_raw      bytea,                            -- where jsonb refuses them: the same as bytes, or as text for people; headers is then {}
    fingerprint      bytea       CHECK (length(fingerprint) = 32), -- of the delivery; NULL: not known
    body             bytea       NOT NULL,
    body_size        bigint      NOT NULL,
    body_sha256      bytea       NOT NULL,
    reason           text        NOT NULL,
    failure_type     text,
    failure_message  text,
    failure_stack    text,
    extractor        text,
    retry_count      bigint,
    retry_count_source text,
    original_queue   text,
    replay_id        bigint,                           -- the replay whose copy came back; NULL in a first life

    CONSTRAINT lives_once PRIMARY KEY (message_id, round)
);
-- Bodies are often compressed already or small; TOAST without compression makes their reading cheap.
ALTER TABLE lives ALTER COLUMN body SET STORAGE EXTERNAL;

-- Serves the question whether a redelivery without a receipt may be a copy.
CREATE INDEX lives_fingerprint_idx ON lives (fingerprint);

-- Receipts: what is committed here but perhaps not yet acked on the broker. A
-- redelivery that has a receipt is the same message, not a twin of it
-- (docs/architecture.md, "Exactly once into the store").
CREATE TABLE receipts (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source      text        NOT NULL,
    window_id   uuid        NOT NULL,                  -- the window it was drained in
    fingerprint bytea       NOT NULL CHECK (length(fingerprint) = 32),
    message_id  uuid        NOT NULL,                  -- of a dead letter; checking that would slow the drain for nothing
    looks       integer     NOT NULL DEFAULT 0,        -- how often a drain has begun to consume since
    created_at  timestamptz NOT NULL
);
CREATE INDEX receipts_window_idx ON receipts (source, window_id);

-- Notes: what operators wrote about a message.
CREATE TABLE notes (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message_id uuid        NOT NULL REFERENCES dead_letters,
    at         timestamptz NOT NULL,
    actor      text        NOT NULL,
    text       text        NOT NULL CHECK (text <> '')
);
CREATE INDEX notes_message_idx ON notes (message_id, at);

-- Sources: what the operators set, beside the configuration.
CREATE TABLE source_settings (
    source    text        PRIMARY KEY,
    paused    boolean     NOT NULL DEFAULT false,
    paused_by text,
    paused_at timestamptz,
    last_drained_at timestamptz
);
