<?php

/** A notice that is not of the service, not for this site, or too old. Answer 400 and do nothing. */

declare(strict_types=1);

namespace Portcullis\Exception;

final class InvalidNotice extends PortcullisException
{
    public function __construct(string $message, public readonly bool $isUnknownKey = false)
    {
        parent::__construct($message);
    }
}
