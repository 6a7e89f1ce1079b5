<?php

/** What is known of an address. */

declare(strict_types=1);

namespace Portcullis;

final class IpCheck
{
    private function __construct(
        public readonly string $ipAddress,
        /** 0 to 100. */
        public readonly int $abuseConfidenceScore,
        /** Two letters; ZZ when it is unknown. */
        public readonly string $countryCode,
        public readonly string $isp,
        /** An exit of an anonymising network. */
        public readonly bool $isAnon,
        /** Reports, and what lists add to them. */
        public readonly int $totalReports,
        /** Block it. */
        public readonly bool $malicious,
        /** False in special-use ranges. */
        public readonly bool $isPublic,
        /** 4 or 6. */
        public readonly int $ipVersion,
        /** Allowed by the operator, or known to be good. */
        public readonly bool $isWhitelisted,
        /** Accounts behind the reports, and what lists add to them. */
        public readonly int $numDistinctUsers,
        /** ISO 8601; null when nothing is known. */
        public readonly ?string $lastReportedAt,
    ) {
    }

    /** @param array<string, mixed> $answer */
    public static function fromAnswer(array $answer): self
    {
        return self::fromData(Shape::part($answer, 'data'));
    }

    /** @param array<string, mixed> $data */
    public static function fromData(array $data): self
    {
        Shape::members($data, [
            'ipAddress' => 'string',
            'abuseConfidenceScore' => 'int',
            'countryCode' => 'string',
            'isp' => 'string',
            'isAnon' => 'bool',
            'totalReports' => 'int',
            'malicious' => 'bool',
            'isPublic' => 'bool',
            'ipVersion' => 'int',
            'isWhitelisted' => 'bool',
            'numDistinctUsers' => 'int',
            'lastReportedAt' => 'string|null',
        ]);
        return new self(
            $data['ipAddress'],
            $data['abuseConfidenceScore'],
            $data['countryCode'],
            $data['isp'],
            $data['isAnon'],
            $data['totalReports'],
            $data['malicious'],
            $data['isPublic'],
            $data['ipVersion'],
            $data['isWhitelisted'],
            $data['numDistinctUsers'],
            $data['lastReportedAt'] ?? null,
        );
    }
}
