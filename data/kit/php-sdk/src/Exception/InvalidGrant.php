<?php

/** The code is unknown, used, expired, or was meant for another site. Let the visitor start again. */

declare(strict_types=1);

namespace Portcullis\Exception;

final class InvalidGrant extends ServiceException
{
}
