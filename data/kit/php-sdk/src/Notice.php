<?php

/** What the service tells of a visitor. `id` is the same in each try: act on it once. */

declare(strict_types=1);

namespace Portcullis;

final class Notice
{
    /** All sessions of the visitor ended. */
    public const SIGNED_OUT = 'signed_out';
    /** A value that was shared is another one: send the visitor through a sign-in. */
    public const CHANGED = 'changed';
    /** The visitor took the consent back. */
    public const WITHDRAWN = 'withdrawn';
    /** The account is gone, and its id never comes again. */
    public const DELETED = 'deleted';
    /** One that this version does not know: answer 202 and do nothing. */
    public const OTHER = 'other';

    public function __construct(
        public readonly string $kind,
        public readonly string $serviceId,
        public readonly string $id,
        /** Seconds since 1970. */
        public readonly int $happenedAt,
    ) {
    }
}
