<?php

/** A parameter is missing, malformed or out of range. */

declare(strict_types=1);

namespace Portcullis\Exception;

final class InvalidRequest extends ServiceException
{
    public function __construct(
        string $message,
        int $status,
        /** Which parameter, where the service names one. */
        public readonly ?string $parameter = null,
    ) {
        parent::__construct($message, $status);
    }
}
