<?php

/** No answer: the name was not found, the connection or TLS failed, or it took too long. */

declare(strict_types=1);

namespace Portcullis\Exception;

final class TransportException extends PortcullisException
{
}
