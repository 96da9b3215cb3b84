-- What an operator has seen of a queue that does not look terminal, and
-- confirmed that it is to be drained all the same; a hazard that is not in the
-- list asks again.
ALTER TABLE source_settings
    ADD COLUMN confirmed_hazards text[] NOT NULL DEFAULT '{}',  -- as 'message_ttl=60000'
    ADD COLUMN confirmed_by      text,
    ADD COLUMN confirmed_at      timestamptz,
    ADD CONSTRAINT source_settings_confirmed CHECK ((confirmed_by IS NULL) = (confirmed_at IS NULL));
