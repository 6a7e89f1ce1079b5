<?php

/** How much of a quota was left at the last answer. */

declare(strict_types=1);

namespace Portcullis;

use Portcullis\Http\Response;

final class Quota
{
    private function __construct(
        /** Requests a minute. */
        public readonly int $limit,
        public readonly int $remaining,
        /** Unix time in seconds. */
        public readonly int $resetAt,
    ) {
    }

    public static function of(Response $response): ?self
    {
        $limit = $response->number('X-RateLimit-Limit');
        $remaining = $response->number('X-RateLimit-Remaining');
        $resetAt = $response->number('X-RateLimit-Reset');
        return $limit === null || $remaining === null || $resetAt === null
            ? null
            : new self($limit, $remaining, $resetAt);
    }
}
