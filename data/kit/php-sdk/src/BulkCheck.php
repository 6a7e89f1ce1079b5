<?php

/** One address of a bulk check: the service's seven fields, or null in their place when it is none. */

declare(strict_types=1);

namespace Portcullis;

final class BulkCheck
{
    private function __construct(
        /** As it was asked, when it is no address. */
        public readonly string $ipAddress,
        public readonly bool $isAddress,
        public readonly ?int $abuseConfidenceScore,
        public readonly ?string $countryCode,
        public readonly ?string $isp,
        public readonly ?bool $isAnon,
        public readonly ?int $totalReports,
        /** Block it. */
        public readonly bool $malicious,
    ) {
    }

    /**
     * @param array<string, mixed> $answer
     * @return list<self> in the order asked
     */
    public static function fromAnswer(array $answer): array
    {
        $rows = Shape::rows($answer, 'data', ['ipAddress' => 'string']);
        return array_map(self::fromRow(...), $rows);
    }

    /** @param array<string, mixed> $row */
    private static function fromRow(array $row): self
    {
        if (is_string($row['error'] ?? null)) {
            return new self($row['ipAddress'], false, null, null, null, null, null, false);
        }
        Shape::members($row, [
            'abuseConfidenceScore' => 'int',
            'countryCode' => 'string',
            'isp' => 'string',
            'isAnon' => 'bool',
            'totalReports' => 'int',
            'malicious' => 'bool',
        ]);
        return new self(
            $row['ipAddress'],
            true,
            $row['abuseConfidenceScore'],
            $row['countryCode'],
            $row['isp'],
            $row['isAnon'],
            $row['totalReports'],
            $row['malicious'],
        );
    }
}
