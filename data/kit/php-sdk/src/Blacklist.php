<?php

/** Addresses and networks with a high score, the most certain first. */

declare(strict_types=1);

namespace Portcullis;

final class Blacklist
{
    /** @param list<array{ipAddress: string, countryCode: string, abuseConfidenceScore: int, lastReportedAt: string}> $entries */
    private function __construct(
        /** When the list was made: ISO 8601. */
        public readonly string $generatedAt,
        /** The least score that was used. */
        public readonly int $confidenceMinimum,
        /** `ipAddress` is a network in CIDR notation where a whole network is listed. */
        public readonly array $entries,
    ) {
    }

    /** @param array<string, mixed> $answer */
    public static function fromAnswer(array $answer): self
    {
        $meta = Shape::part($answer, 'meta');
        Shape::members($meta, ['generatedAt' => 'string', 'confidenceMinimum' => 'int']);
        $entries = Shape::rows($answer, 'data', [
            'ipAddress' => 'string',
            'countryCode' => 'string',
            'abuseConfidenceScore' => 'int',
            'lastReportedAt' => 'string',
        ]);
        return new self($meta['generatedAt'], $meta['confidenceMinimum'], $entries);
    }
}
