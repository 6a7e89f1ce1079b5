<?php

/** The account reported this address less than 15 minutes ago. */

declare(strict_types=1);

namespace Portcullis\Exception;

final class DuplicateReport extends ServiceException
{
}
