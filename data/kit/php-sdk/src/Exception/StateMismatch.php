<?php

/** The visitor came back with another state than the one that was sent out. Answer 400 and stop. */

declare(strict_types=1);

namespace Portcullis\Exception;

final class StateMismatch extends PortcullisException
{
}
