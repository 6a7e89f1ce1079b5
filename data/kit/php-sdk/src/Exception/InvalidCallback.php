<?php

/** The visitor came back with neither a code nor an error. Answer 400 and stop. */

declare(strict_types=1);

namespace Portcullis\Exception;

final class InvalidCallback extends PortcullisException
{
}
