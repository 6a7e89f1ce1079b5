<?php

/** All exceptions of this SDK. */

declare(strict_types=1);

namespace Portcullis\Exception;

abstract class PortcullisException extends \RuntimeException
{
}
