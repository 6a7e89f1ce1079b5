<?php

/** The service is too busy, or can't save anything now. */

declare(strict_types=1);

namespace Portcullis\Exception;

final class ServiceUnavailable extends ServiceException
{
}
