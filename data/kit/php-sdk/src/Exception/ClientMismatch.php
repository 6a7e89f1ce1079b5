<?php

/** A profile for another site's code. It was thrown away. */

declare(strict_types=1);

namespace Portcullis\Exception;

final class ClientMismatch extends PortcullisException
{
}
