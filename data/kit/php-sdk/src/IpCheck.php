<?php

/** What is known of an address. */

declare(strict_types=1);

namespace Portcullis;

use Portcullis\Exception\UnexpectedResponse;

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
        public readonly int $totalReports,
        /** Block it. */
        public readonly bool $malicious,
    ) {
    }

    /** @param array<string, mixed> $answer */
    public static function fromAnswer(array $answer): self
    {
        $data = $answer['data'] ?? null;
        if (
            !is_array($data)
            || !is_string($data['ipAddress'] ?? null)
            || !is_int($data['abuseConfidenceScore'] ?? null)
            || !is_string($data['countryCode'] ?? null)
            || !is_string($data['isp'] ?? null)
            || !is_bool($data['isAnon'] ?? null)
            || !is_int($data['totalReports'] ?? null)
            || !is_bool($data['malicious'] ?? null)
        ) {
            throw new UnexpectedResponse('The answer is not that of a check.', 200);
        }
        return new self(
            $data['ipAddress'],
            $data['abuseConfidenceScore'],
            $data['countryCode'],
            $data['isp'],
            $data['isAnon'],
            $data['totalReports'],
            $data['malicious'],
        );
    }
}
