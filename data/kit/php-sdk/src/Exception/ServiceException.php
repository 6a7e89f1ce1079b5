<?php

/** The service answered, and the answer was no. */

declare(strict_types=1);

namespace Portcullis\Exception;

abstract class ServiceException extends PortcullisException
{
    public function __construct(string $message, public readonly int $status)
    {
        parent::__construct($message);
    }
}
