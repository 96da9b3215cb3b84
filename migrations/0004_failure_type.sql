-- Serves the list of what died by one type of failure.
CREATE INDEX dead_letters_failure_type_died_idx ON dead_letters (failure_type, died_at DESC, id DESC)
    WHERE failure_type IS NOT NULL;
