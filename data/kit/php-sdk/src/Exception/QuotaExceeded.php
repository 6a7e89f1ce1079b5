<?php

/** More requests than the account or the address may send; waiting was not allowed or did not help. */

declare(strict_types=1);

namespace Portcullis\Exception;

final class QuotaExceeded extends ServiceException
{
    public function __construct(
        string $message,
        int $status,
        /** Seconds after which it is worth another try. */
        public readonly int $retryAfterSeconds,
    ) {
        parent::__construct($message, $status);
    }
}
