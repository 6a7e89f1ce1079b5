<?php

/** A report that is on disk, and the score that it led to. */

declare(strict_types=1);

namespace Portcullis;

use Portcullis\Exception\UnexpectedResponse;

final class IpReport
{
    private function __construct(
        public readonly string $ipAddress,
        /** 0 to 100. */
        public readonly int $abuseConfidenceScore,
    ) {
    }

    /** @param array<string, mixed> $answer */
    public static function fromAnswer(array $answer): self
    {
        $data = $answer['data'] ?? null;
        if (!is_array($data) || !is_string($data['ipAddress'] ?? null) || !is_int($data['abuseConfidenceScore'] ?? null)) {
            throw new UnexpectedResponse('The answer is not that of a report.', 200);
        }
        return new self($data['ipAddress'], $data['abuseConfidenceScore']);
    }
}
