package dlq

// Closed lists of words that a page turns into sentences.
var (
	// Evidences is every word of Origin.Evidence.
	Evidences = []string{OriginConfigured, OriginOperator, OriginFramework, OriginXDeath, OriginQueueName}
	// Edits is every word of Unit.Edits.
	Edits = []string{
		EditUnwrapped, EditRestored, EditDramatiqOptions, EditDramatiqQueue, EditLaravelAttempts, EditRascal, EditStringsOnly,
	}
	// UnitWarnings is every word of Unit.Warnings.
	UnitWarnings = []string{
		WarnRedeliveryCount, WarnDeliverBy, WarnExpires, WarnNoMessageID, WarnBodyElsewhere,
		WarnEncrypted, WarnPHPBody, WarnBase64, WarnHeaderTypes, WarnNoProperties,
	}
)

// Extractors returns every word of Failure.Extractor: the families in the order
// in which they are asked, and those that are none.
func Extractors() []string {
	names := []string{configuredExtractor}
	for _, f := range families {
		names = append(names, f.name)
	}
	return append(names, genericExtractor, brokerExtractor)
}
