<?php

/** An answer that no Portcullis gives: another program at that address, or a proxy between. */

declare(strict_types=1);

namespace Portcullis\Exception;

final class UnexpectedResponse extends ServiceException
{
}
