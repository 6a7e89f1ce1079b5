<?php

/** An address, a client id or a key that can't be right: a mistake of the site's own settings. */

declare(strict_types=1);

namespace Portcullis\Exception;

final class ConfigurationError extends PortcullisException
{
}
