-- The drain's own books, and where headers and search text are kept. Stores
-- made before the first release hold headers in a form that is not read any
-- more; nothing of theirs is dropped behind anyone's back.
DO $$ BEGIN
    IF EXISTS (SELECT FROM lives) THEN
        RAISE EXCEPTION 'this store was filled by a version before the first release and cannot be upgraded; '
            'replay or note what is open in it, then give the console an empty database';
    END IF;
END $$;

-- Windows: what was drained at a time, in the order of the queue. A window is
-- in doubt from its commit until it is proven that the broker heard its ack; the
-- fingerprints of one in doubt are receipts: a redelivery that has one is the
-- same message, not a twin of it (docs/architecture.md, "Exactly once into the
-- store"). Later they tell what may be a copy.
CREATE TABLE windows (
    id           uuid        PRIMARY KEY,
    source       text        NOT NULL,
    drained_at   timestamptz NOT NULL,
    message_ids  bytea       NOT NULL,                 -- 16 bytes each
    fingerprints bytea       NOT NULL,                 -- 32 bytes each, in the same order
    outstanding  integer     NOT NULL,                 -- how many of them are receipts still
    taken        bytea,                                -- one byte each, not 0: no receipt any more; NULL: none is taken
    looks        integer     NOT NULL DEFAULT 0,       -- how often a drain has begun to consume since
    searchable   boolean     NOT NULL DEFAULT false,   -- the bodies can be found by their text

    CONSTRAINT windows_in_step CHECK (length(message_ids) * 2 = length(fingerprints))
);
ALTER TABLE windows ALTER COLUMN message_ids SET STORAGE EXTERNAL, ALTER COLUMN fingerprints SET STORAGE EXTERNAL;
-- Serves the start of a drain, and the end of doubts.
CREATE INDEX windows_doubt_idx      ON windows (source) WHERE outstanding > 0;
-- Serves the search for possible copies, the newest first, and the end of old windows.
CREATE INDEX windows_drained_idx    ON windows (source, drained_at DESC);
-- Serves the making of search text, the oldest first.
CREATE INDEX windows_unsearched_idx ON windows (drained_at) WHERE NOT searchable;

DROP TABLE receipts;

-- Headers are kept as the bytes of an AMQP table: every value with its type, in
-- a quarter of the room that JSON takes, and with none of jsonb's limits.
-- Properties likewise. A life is written in the transaction of its message, and
-- a check of that for each row would slow the drain for nothing.
ALTER TABLE lives
    DROP COLUMN headers, DROP COLUMN headers_raw, DROP COLUMN fingerprint, DROP COLUMN properties,
    ADD COLUMN properties bytea NOT NULL,
    ADD COLUMN headers bytea NOT NULL,
    ADD COLUMN body_is_text boolean NOT NULL,          -- UTF-8 without NUL
    DROP CONSTRAINT lives_message_id_fkey,
    DROP CONSTRAINT lives_replay;

-- Search text: what a body says in lower case, cut, one row for each message
-- whose body is text. Its index costs more than all else that a message costs,
-- so it is made right after the drain; until then the list reads the bodies
-- themselves (package dlq, searchable.go).
DROP INDEX dead_letters_body_idx;
ALTER TABLE dead_letters DROP COLUMN body_text;
CREATE TABLE body_texts (
    message_id uuid PRIMARY KEY,
    text       text NOT NULL
);
CREATE INDEX body_texts_trgm_idx ON body_texts USING gin (text public.gin_trgm_ops);

-- Indexes of the list. Each costs the drain as much as reading a message does,
-- so there are few: one by time for any list, one for what is open, and one GIN
-- for all that a list is filtered by, whose entries Postgres collects first and
-- files in bulk. What is not open was not so when it was drained; its indexes
-- cost the drain nothing. Text is compared as bytes: nothing is sorted for people.
CREATE EXTENSION IF NOT EXISTS btree_gin SCHEMA public;
DROP INDEX dead_letters_died_idx, dead_letters_state_died_idx, dead_letters_source_died_idx, dead_letters_reason_died_idx,
    dead_letters_retries_died_idx, dead_letters_business_key_idx, dead_letters_open_idx, dead_letters_failure_type_died_idx;
ALTER TABLE dead_letters
    ALTER COLUMN source TYPE text COLLATE "C", ALTER COLUMN state TYPE text COLLATE "C",
    ALTER COLUMN reason TYPE text COLLATE "C", ALTER COLUMN failure_type TYPE text COLLATE "C",
    ALTER COLUMN business_key TYPE text COLLATE "C";
CREATE INDEX dead_letters_died_idx   ON dead_letters (died_at, id);
CREATE INDEX dead_letters_open_idx   ON dead_letters (source, died_at, id) WHERE state = 'open';
CREATE INDEX dead_letters_filter_idx ON dead_letters USING gin (source, reason, failure_type, retry_count, business_key);
CREATE INDEX dead_letters_state_died_idx  ON dead_letters (state, died_at, id) WHERE state <> 'open';
CREATE INDEX dead_letters_source_died_idx ON dead_letters (source, died_at, id) WHERE state <> 'open';
